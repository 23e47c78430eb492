"""RQ's commands reach a worker through lost connections, refusals and nonsense, for as long as it is there."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest
import redis

from duly.common.settings import Settings
from duly.common.store.connection import connect
from duly.worker import commands
from duly.worker.allow_list import AllowList
from duly.worker.commands import Commands
from duly.worker.rq_worker import FleetWorker
from tests.conftest import Backend
from tests.fleet.processes import wait_until
from tests.pure.test_restarts import MovedClock

CHANNEL = "rq:pubsub:w"
SUBSCRIBED = {"type": "subscribe"}
COMMAND = {"type": "message", "data": b"stop"}


class Scripted:
    """A client whose subscriptions say what the script says: a message, None for silence, or an error to raise."""

    def __init__(self, *script: dict[str, Any] | Exception | None) -> None:
        self.script = list(script)
        self.opened = self.closed = self.asked = 0
        self.connection = None
        self.over = threading.Event()

    def pubsub(self) -> Scripted:
        self.opened += 1
        return self

    def subscribe(self, channel: str) -> None:
        assert channel == CHANNEL

    def get_message(self, timeout: float) -> dict[str, Any] | None:
        assert timeout == commands.QUIET_S
        if not self.script:
            self.over.wait()
            return {"type": "pong"}
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def ping(self) -> None:
        self.asked += 1

    def close(self) -> None:
        self.closed += 1


class Heard:
    """What was heard of a script, with waits that take no time."""

    def __init__(self, *script: dict[str, Any] | Exception | None, obey: Callable[[Any], object] | None = None) -> None:
        self.client, self.messages, self.clock = Scripted(*script), SimpleQueue[Any](), MovedClock()
        self.waits: list[float] = []
        self.commands = Commands("w.1", self.client, CHANNEL, obey or self.messages.put, self.clock)
        self.commands._stopped.wait = self._wait  # type: ignore[method-assign]  # the wait moves the clock instead

    def _wait(self, seconds: float | None = None) -> bool:
        assert seconds is not None
        self.waits.append(seconds)
        self.clock.now_ms += seconds * 1000
        return False

    def to_the_end(self) -> Heard:
        self.commands.start()
        wait_until(lambda: not self.client.script, "the script is over", 5.0)
        self.commands._stopped.set()
        self.client.over.set()
        self.commands.stop()
        assert not self.commands._thread.is_alive()
        assert self.client.closed == self.client.opened
        return self


@pytest.mark.parametrize(
    "error",
    [
        redis.exceptions.ConnectionError("gone"),
        redis.exceptions.TimeoutError("late"),
        redis.exceptions.InvalidResponse("HTTP/1.1"),
        redis.exceptions.NoPermissionError("no"),
        redis.exceptions.ResponseError("LOADING"),
        OSError("broken"),
        ValueError("no number"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_ends_the_listening(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    heard = Heard(SUBSCRIBED, error, SUBSCRIBED, COMMAND).to_the_end()
    assert heard.messages.get_nowait() == COMMAND
    assert heard.client.opened == 2
    unheard, again = caplog.records
    assert unheard.getMessage().startswith("w.1 does not hear RQ's commands, and keeps trying: ")
    assert (unheard.levelno, unheard.exc_info) == (logging.WARNING, None)
    assert again.getMessage() == "w.1 hears RQ's commands again"


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (redis.exceptions.ConnectionError("gone"), [0.5, 1, 2, 2, 2, 2, 2, 2]),
        (redis.exceptions.NoPermissionError("no"), [0.5, 1, 2, 4, 8, 15, 15, 15]),
    ],
    ids=["away", "refused"],
)
def test_the_waits_between_subscriptions_grow_and_the_log_says_the_same_once(
    error: Exception, waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard(*[error] * 8, SUBSCRIBED).to_the_end()
    assert heard.waits == waits
    assert len(caplog.records) == 1


def test_a_channel_that_is_silent_is_asked_for_a_sign_of_life_and_opened_anew_when_none_comes() -> None:
    lives = Heard(SUBSCRIBED, None, {"type": "pong"}, None, {"type": "pong"}, COMMAND).to_the_end()
    assert (lives.client.asked, lives.client.opened) == (2, 1)
    lost = Heard(SUBSCRIBED, None, None, SUBSCRIBED, COMMAND).to_the_end()
    assert (lost.client.asked, lost.client.opened) == (1, 2)
    assert lost.messages.get_nowait() == COMMAND


def test_a_command_that_cannot_be_followed_is_a_line_and_the_next_one_is_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    obeyed: list[bytes] = []

    def obey(message: dict[str, Any]) -> None:
        obeyed.append(message["data"])
        if message["data"] != b"stop":
            raise KeyError("command")

    heard = Heard(SUBSCRIBED, {"type": "message", "data": b"nonsense"}, COMMAND, obey=obey).to_the_end()
    assert obeyed == [b"nonsense", b"stop"]
    assert heard.client.opened == 1
    assert caplog.messages == ["w.1 could not follow a command of RQ: KeyError"]


@pytest.fixture
def worker(valkey: Backend) -> Iterator[FleetWorker]:
    made = FleetWorker(Settings(redis_url=str(valkey.url)), "w", ["default"], AllowList([], []))
    yield made
    made.unsubscribe()
    made._stable.kill()
    made._guard.close()


def subscribed(valkey: Backend, worker: FleetWorker) -> bool:
    ((_, listeners),) = valkey.client.pubsub_numsub(worker.pubsub_channel_name)
    return bool(listeners)


@pytest.mark.server
def test_a_worker_hears_rq_after_nonsense_on_its_channel_and_after_its_connection_was_ended(
    worker: FleetWorker, valkey: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(worker, "kill_horse", ended.set)
    monkeypatch.setattr(type(worker), "horse_pid", 7)
    worker.subscribe()
    wait_until(lambda: subscribed(valkey, worker), "the worker listens")
    valkey.client.publish(worker.pubsub_channel_name, "no JSON")
    valkey.client.publish(worker.pubsub_channel_name, json.dumps({"no": "command"}))
    valkey.client.client_kill_filter(_type="pubsub")
    wait_until(lambda: subscribed(valkey, worker), "the worker listens again")
    valkey.client.publish(worker.pubsub_channel_name, json.dumps({"command": "kill-horse"}))
    assert ended.wait(10)


@pytest.mark.server
def test_a_worker_that_may_not_listen_says_so_and_hears_rq_as_soon_as_it_may(
    valkey: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    valkey.client.execute_command("ACL", "SETUSER", "deaf", "on", ">secret", "~*", "+@all", "resetchannels")
    heard = SimpleQueue[Any]()
    url = str(valkey.url).replace("redis://", "redis://deaf:secret@")
    listening = Commands("w.1", connect(url, decode=False), CHANNEL, heard.put)
    listening.start()
    try:
        wait_until(lambda: bool(caplog.messages), "the refusal is told")
        valkey.client.execute_command("ACL", "SETUSER", "deaf", "allchannels")
        wait_until(lambda: valkey.client.publish(CHANNEL, "stop"), "it listens")
        assert heard.get(timeout=10)["data"] == b"stop"
    finally:
        listening.stop()
        valkey.client.execute_command("ACL", "DELUSER", "deaf")
    may_not = "w.1 does not hear RQ's commands, and keeps trying: the Redis user in --redis-url may not do this"
    assert caplog.messages == [may_not, "w.1 hears RQ's commands again"]


@pytest.mark.server
def test_listening_ends_with_the_worker_and_not_at_the_next_message(worker: FleetWorker, valkey: Backend) -> None:
    worker.subscribe()
    wait_until(lambda: subscribed(valkey, worker), "the worker listens")
    worker.unsubscribe()
    assert not worker._commands._thread.is_alive()
    assert not subscribed(valkey, worker)
