"""How the story looks: plain lines with a time, no wider than 80 columns, and commands that can be copied."""

from __future__ import annotations

import io
import shlex

from duly.common.demo.narrator import WIDTH, PlainNarrator


class Stopped:
    """A clock that is moved by hand."""

    now_ms = 1_000.0

    def monotonic_ms(self) -> float:
        return self.now_ms


def told(tell: str, *words: str) -> list[str]:
    stream, clock = io.StringIO(), Stopped()
    narrator = PlainNarrator(clock, stream)
    clock.now_ms += 12_340
    getattr(narrator, tell)(*words)
    return stream.getvalue().splitlines()


def test_an_event_carries_its_time_and_a_long_one_is_indented() -> None:
    assert told("say", "worker-1 holds the duty") == ["  12.3 s  worker-1 holds the duty"]
    lines = told("say", "word " * 40)
    assert len(lines) > 1
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.startswith("          word") for line in lines[1:])


def test_a_title_is_wrapped_and_an_empty_one_is_a_blank_line() -> None:
    assert told("title", "") == [""]
    assert all(len(line) <= WIDTH for line in told("title", "word " * 40))


def test_a_path_is_never_broken() -> None:
    assert told("title", "/long" * 30) == ["/long" * 30]


def test_a_command_fits_and_reads_back_as_itself() -> None:
    words = ["duly", "hold", "resolve", "publish", "1795963388000", "--outcome", "no-committed-result"]
    words += ["--by", "Ada", "--evidence", "the outbox has no note, I looked"]
    lines = told("command", *words)
    assert all(len(line) <= WIDTH for line in lines)
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == ["$", *words]


def test_there_is_no_board_without_a_terminal() -> None:
    stream = io.StringIO()
    PlainNarrator(Stopped(), stream).board(lambda: [])
    assert stream.getvalue() == ""
