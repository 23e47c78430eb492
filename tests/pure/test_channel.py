"""Messages between a worker and its work-horse: whatever is not one of ours ends the channel."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.worker.channel import MOST_BYTES, Channel, ChannelBroken
from duly.worker.messages import outcome_in, probed_in
from duly.worker.performing import Kind, Outcome


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the bare socket of its other side."""
    one, other = socket.socketpair()
    yield Channel(one), other
    one.close()
    other.close()


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def test_messages_arrive_as_they_were_sent_and_in_order() -> None:
    one, other = Channel.pair()
    messages = [{"n": 1}, {"text": "ä\n\u2028" * 10, "none": None, "list": [1.5, {"a": []}]}, {}]
    for each in messages:
        one.send(each)
    assert [other.receive() for _ in messages] == messages
    one.close()
    other.close()


def test_a_message_in_pieces_is_one_message(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    data = framed(b'{"a":1}') + framed(b'{"b":2}')
    for at in range(len(data) - 3):
        other.send(data[at : at + 1])
    other.send(data[-3:])
    assert [channel.receive(), channel.receive()] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\x00",
        b"\x00\x00\x00\x05",
        framed(b'{"a":1}')[:-1],
        framed(b""),
        framed(b"[]"),
        framed(b"7"),
        framed(b"{"),
        framed(b"\xff\xfe"),
        framed(b"[" * 200_000),
        struct.pack(">I", MOST_BYTES + 1) + b"{}",
        b"\xff" * 64,
        b"print('hello')\n",
    ],
)
def test_what_is_cut_off_too_long_or_no_object_breaks_the_channel(
    ends: tuple[Channel, socket.socket], said: bytes
) -> None:
    channel, other = ends
    other.settimeout(5)
    other.sendall(said)
    other.close()
    with pytest.raises(ChannelBroken):
        channel.receive()


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(said: bytes) -> None:
    one, other = socket.socketpair()
    channel = Channel(one)
    other.sendall(said)
    other.close()
    try:
        while True:
            assert isinstance(channel.receive(), dict)
    except ChannelBroken:
        pass
    finally:
        one.close()


def test_nothing_is_sent_that_the_other_side_would_refuse(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    with pytest.raises(ChannelBroken):
        channel.send({"text": "x" * MOST_BYTES})
    other.setblocking(False)
    with pytest.raises(BlockingIOError):
        other.recv(1)


def test_sending_to_nobody_breaks_the_channel(ends: tuple[Channel, socket.socket]) -> None:
    channel, other = ends
    other.close()
    with pytest.raises(ChannelBroken):
        channel.send({"n": 1})


def test_the_longest_arguments_of_a_schedule_fit() -> None:
    assert len(json.dumps({"args": ["\u20ac" * 21_000]}).encode()) < MOST_BYTES


def test_an_outcome_is_read_as_it_is_told() -> None:
    told = {"kind": "failed", "said": "ValueError", "spent": "failure"}
    assert outcome_in(told) == Outcome(Kind.FAILED, "ValueError")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"kind": "recorded", "said": "x"},
        {"kind": None, "said": "x"},
        {"kind": ["succeeded"], "said": "x"},
        {"kind": "succeeded"},
        {"kind": "succeeded", "said": 7},
        {"kind": "succeeded", "said": "x" * 10_000},
    ],
)
def test_an_answer_that_tells_no_outcome_is_none(answer: dict[str, object]) -> None:
    with pytest.raises(ChannelBroken):
        outcome_in(answer)


@pytest.mark.parametrize("answer", [{}, {"answer": "COMMITTED"}, {"answer": 1, "cause": ""}])
def test_a_probe_that_answers_oddly_has_not_answered(answer: dict[str, object]) -> None:
    with pytest.raises(ChannelBroken):
        probed_in(answer)
