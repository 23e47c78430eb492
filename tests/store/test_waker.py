"""The wait for what comes next ends when it comes: a socket alone would be waited for in whole milliseconds."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import redis

from duly.scheduler.service import Waker
from tests.conftest import Backend


class Channel:
    """A subscription whose wait takes whole milliseconds, rounded up, as the kernel's does."""

    def __init__(self, now: list[float], messages: list[str] | None = None) -> None:
        self._now = now
        self._messages = messages or []
        self.closed = False

    def get_message(self, timeout: float) -> str | None:
        if self._messages:
            return self._messages.pop()
        self._now[0] += math.ceil(timeout * 1000)
        return None

    def close(self) -> None:
        self.closed = True


class Broken(Channel):
    def get_message(self, timeout: float) -> str | None:
        raise redis.exceptions.ConnectionError("gone")


class Waiting:
    """A waker whose clock only moves while it waits."""

    def __init__(self, fake: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = [0.0]
        self.waker = Waker(fake.store(), self)
        monkeypatch.setattr(time, "sleep", self._sleep)

    def monotonic_ms(self) -> float:
        return self.now[0]

    def _sleep(self, seconds: float) -> None:
        self.now[0] += seconds * 1000

    def on(self, channel: Any) -> Waker:
        self.waker._pubsub = channel
        return self.waker


@pytest.fixture
def waiting(fake: Backend, monkeypatch: pytest.MonkeyPatch) -> Waiting:
    return Waiting(fake, monkeypatch)


@pytest.mark.parametrize("wait_ms", [0.0, 0.3, 1.0, 1.4, 12.0, 12.7, 250.01])
def test_a_wait_takes_as_long_as_it_is_told_to_the_fraction_of_a_millisecond(waiting: Waiting, wait_ms: float) -> None:
    assert waiting.on(Channel(waiting.now)).wait(wait_ms) is False
    assert waiting.now[0] == pytest.approx(wait_ms)


def test_a_message_ends_the_wait_at_once_and_those_that_came_with_it_are_heard_too(waiting: Waiting) -> None:
    messages = ["wake", "wake", "duty-free"]
    assert waiting.on(Channel(waiting.now, messages)).wait(1_000) is True
    assert waiting.now[0] == 0.0
    assert messages == []


def test_a_subscription_that_broke_ends_the_wait_and_is_made_anew_with_the_next(waiting: Waiting) -> None:
    broken = Broken(waiting.now)
    assert waiting.on(broken).wait(1_000) is False
    assert broken.closed
    assert waiting.waker._pubsub is None
