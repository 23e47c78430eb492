"""What the supervisor makes of a child that ends."""

from __future__ import annotations

import errno
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

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


def test_a_burst_runs_one_kind_after_another_to_its_end(tmp_path: Path) -> None:
    order = tmp_path / "order"

    def first(*_: object) -> int:
        order.write_text("first")
        return 0

    def second(*_: object) -> int:
        return 0 if order.read_text() == "first" else 1

    roles = [(first, RoleOptions("box.s")), (second, RoleOptions("box.1")), (second, RoleOptions("box.2"))]
    assert Supervisor(Settings(), roles).run_burst() == 0


def test_a_burst_ends_with_the_first_bad_exit_code_and_starts_nothing_after_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    started = tmp_path / "started"

    def follow(*_: object) -> int:
        started.touch()
        return 0

    roles = [(lambda *_: 3, RoleOptions("box.s")), (follow, RoleOptions("box.1"))]
    assert Supervisor(Settings(), roles).run_burst() == 3
    assert not started.exists()
    assert "box.s ended (exit code 3)" in caplog.text


def test_a_child_of_a_burst_that_is_killed_is_told_and_counts_as_shells_count_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def die(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    assert Supervisor(Settings(), [(die, RoleOptions("box.1"))]).run_burst() == 128 + signal.SIGKILL
    assert "box.1 ended (killed by SIGKILL)" in caplog.text


def test_a_child_of_a_burst_that_cannot_be_forked_now_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, fork, failures = MovedClock(), os.fork, [OSError(errno.EAGAIN, "no more processes")]
    wait = _SignalPipe.wait

    def fork_later() -> int:
        if failures:
            raise failures.pop()
        return fork()

    def move(self: _SignalPipe, timeout_ms: float | None) -> set[int]:
        clock.now_ms += timeout_ms or 0
        return wait(self, None if timeout_ms is None else 0)

    monkeypatch.setattr(os, "fork", fork_later)
    monkeypatch.setattr(_SignalPipe, "wait", move)
    assert Supervisor(Settings(), [(lambda *_: 4, RoleOptions("box.1"))], clock=clock).run_burst() == 4
    assert clock.now_ms == 500


def test_a_signal_between_two_kinds_of_a_burst_starts_nothing_further(tmp_path: Path) -> None:
    started, owner = tmp_path / "started", os.getpid()

    def stop(*_: object) -> int:
        os.kill(owner, signal.SIGTERM)
        return 0

    def follow(*_: object) -> int:
        started.touch()
        return 0

    roles = [(stop, RoleOptions("box.s")), (follow, RoleOptions("box.1"))]
    assert Supervisor(Settings(), roles).run_burst() == 128 + signal.SIGTERM
    assert not started.exists()


def test_a_stop_that_reaches_a_child_just_after_its_fork_is_not_lost(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fork = os.fork

    def fork_and_signal() -> int:
        pid = fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return pid

    def live_on(*_: object) -> int:
        time.sleep(20)
        return 0

    monkeypatch.setattr(os, "fork", fork_and_signal)
    caplog.set_level(logging.ERROR)
    assert Supervisor(Settings(), [(live_on, RoleOptions("box.1"))]).run_burst() == 128 + signal.SIGTERM
    assert "box.1 ended (killed by SIGTERM)" in caplog.text
