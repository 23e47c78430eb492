"""What the supervisor makes of a child that ends."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable

import pytest

from duly.common.process.roles import RoleOptions
from duly.common.process.supervisor import Supervisor, _Child, _SignalPipe
from duly.common.settings import Settings
from tests.pure.test_restarts import MovedClock


def ended(end: Callable[[], object]) -> _Child:
    """A child that has ended in this way, and that nobody has waited for."""
    pid = os.fork()
    if pid == 0:
        end()
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return _Child(lambda *_: 0, RoleOptions("box.1"), pid)


def test_a_death_by_a_signal_without_a_name_is_told_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    number = signal.SIGRTMIN + 3
    child = ended(lambda: os.kill(os.getpid(), number))
    Supervisor(Settings(), [])._reap([child], restart=True)
    assert child.pid is None
    assert f"box.1 ended (killed by signal {number}); starting it again in " in caplog.text


def test_a_child_that_ends_at_once_is_started_again_after_the_shortest_wait_and_then_after_twice_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    supervisor, child = Supervisor(Settings(), [], clock=MovedClock()), ended(lambda: None)
    os.waitpid(child.pid or 0, 0)
    for wait_ms in (500, 1_000):
        child.pid = ended(lambda: os._exit(3)).pid
        supervisor._reap([child], restart=True)
        assert f"box.1 ended (exit code 3); starting it again in {wait_ms} ms" in caplog.text


def test_a_child_that_cannot_be_forked_now_is_tried_again_and_ends_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []
    clock = MovedClock()

    def fork() -> int:
        tries.append(clock.now_ms)
        raise OSError(errno.EAGAIN, "no more processes")

    def wait(_: object, timeout_ms: float | None) -> set[int]:
        assert timeout_ms is not None
        clock.now_ms += timeout_ms
        return {signal.SIGTERM} if len(tries) == 4 else set()

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(_SignalPipe, "wait", wait)
    supervisor = Supervisor(Settings(), [(lambda *_: 0, RoleOptions("box.1"))], clock=clock)
    assert supervisor.run() == 0
    assert tries == [0, 500, 1_500, 3_500]
    assert "box.1 could not be started: no more processes; starting it again in 500 ms" in caplog.text
