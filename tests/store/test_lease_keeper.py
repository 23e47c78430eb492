"""A work-horse is dead before its lease can pass on. Each case runs in a child of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from duly.common.clock import SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.store.attempts import Lease
from duly.worker import lease_keeper
from duly.worker.group_guard import _group_of, _live_processes, end_children
from duly.worker.lease_keeper import AttemptTimedOut, LeaseKeeper, fence_margin_ms

SHORT_MS, LONG_MS = 600, 60_000


class Store:
    """Answers renewals as told."""

    def __init__(self, answer: Callable[[], bool]) -> None:
        self._answer = answer
        self.asked = threading.Semaphore(0)

    def renew(self, _lease: Lease) -> bool:
        self.asked.release()
        return self._answer()


def unavailable() -> bool:
    raise StoreUnavailable("away")


def end_of(work: Callable[[], Any]) -> int | None:
    """Run ``work`` in a child in a group of its own: the signal that ended it; None when it came to its end."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        try:
            work()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    assert os.WEXITSTATUS(status) == 0, "the work itself failed"
    return None


def keeper(store: Store, ttl_ms: int = LONG_MS, *, ago_ms: float = 0.0) -> LeaseKeeper:
    """Of a lease that was asked for ``ago_ms`` ago."""
    lease = Lease(Occurrence("docs", 1), "token", "w@1", 1, 1, 0, ttl_ms=ttl_ms, expires_ms=ttl_ms)
    return LeaseKeeper(store, lease, SystemClock().monotonic_ms() - ago_ms)


def armed_for_ms() -> float:
    """When the kernel's timer ends this process; 0 for never."""
    return signal.getitimer(signal.ITIMER_REAL)[0] * 1000


def spin(ms: float) -> None:
    until = time.monotonic() + ms / 1000
    while time.monotonic() < until:
        pass


def test_work_goes_on_while_the_lease_is_renewed() -> None:
    def work() -> None:
        store = Store(lambda: True)
        with keeper(store, 1_500):
            for _ in range(4):  # by then the first lease would be over
                store.asked.acquire()

    assert end_of(work) is None


def test_the_kernel_s_timer_runs_out_before_the_lease_does_and_each_renewal_sets_it_anew() -> None:
    def work() -> None:
        store = Store(lambda: True)
        with keeper(store, 3_000) as kept:
            assert 0 < armed_for_ms() <= 2_700
            time.sleep(0.2)
            assert armed_for_ms() <= 2_500
            store.asked.acquire()
            while not kept.next_look_ms() > SystemClock().monotonic_ms() + 100:
                time.sleep(0.001)
            assert 1_700 < armed_for_ms() <= 2_700

    assert end_of(work) is None


def test_without_an_answer_the_kernel_ends_it() -> None:
    def work() -> None:
        with keeper(Store(unavailable), SHORT_MS):
            time.sleep(60)

    assert end_of(work) == signal.SIGALRM


def test_a_renewal_that_hangs_does_not_keep_it_alive() -> None:
    def hang() -> bool:
        time.sleep(60)
        return True

    def work() -> None:
        with keeper(Store(hang), SHORT_MS):
            time.sleep(60)

    assert end_of(work) == signal.SIGALRM


def test_a_lost_lease_ends_it_at_once() -> None:
    def work() -> None:
        with keeper(Store(lambda: False), ago_ms=LONG_MS / 3):
            time.sleep(30)

    assert end_of(work) == signal.SIGKILL


def test_a_lease_that_was_over_before_it_began_runs_nothing() -> None:
    def work() -> None:
        with keeper(Store(lambda: True), SHORT_MS, ago_ms=10_000):
            time.sleep(60)

    assert end_of(work) == signal.SIGALRM


def test_the_first_renewal_counts_from_the_claim_however_late_the_work_begins() -> None:
    kept = keeper(Store(lambda: True), ago_ms=LONG_MS * 0.6)
    assert kept.next_look_ms() < SystemClock().monotonic_ms()


def test_leaving_the_block_disarms_the_kernel_s_timer() -> None:
    def work() -> None:
        with keeper(Store(unavailable)):
            assert armed_for_ms() > 0
        assert armed_for_ms() == 0

    assert end_of(work) is None


def test_the_time_out_is_raised_in_the_work() -> None:
    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(100)
            with pytest.raises(AttemptTimedOut):
                time.sleep(30)

    assert end_of(work) is None


def test_work_that_swallows_every_exception_by_habit_still_times_out() -> None:
    def work() -> None:
        def swallow() -> None:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                with contextlib.suppress(Exception):
                    spin(50)

        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(100)
            with pytest.raises(AttemptTimedOut):
                swallow()

    assert end_of(work) is None


def test_work_that_swallows_the_time_out_itself_is_killed_after_a_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "TIMEOUT_GRACE_MS", 200.0)

    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            # Without a gap in which the exception could get out, unlike any `except BaseException` in a loop.
            signal.signal(lease_keeper.TIMEOUT_SIGNAL, lambda *_: None)
            kept.start_timeout(100)
            spin(30_000)

    assert end_of(work) == signal.SIGKILL


def test_no_time_out_is_raised_once_the_work_has_ended() -> None:
    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(200)
            kept.stop_timeout()
            time.sleep(0.4)

    assert end_of(work) is None


def test_what_the_work_started_in_its_group_dies_with_a_lost_lease(tmp_path: Any) -> None:
    trace = tmp_path / "trace"

    def work() -> None:
        os.system(f"(sleep 1.2; touch {trace}) &")
        with keeper(Store(lambda: False), ago_ms=LONG_MS / 3):
            time.sleep(30)

    assert end_of(work) == signal.SIGKILL
    time.sleep(1.5)
    assert not trace.exists()


@pytest.mark.parametrize(("ttl_ms", "margin"), [(1_000, 100), (500, 100), (10_000, 1_000), (3_600_000, 2_000)])
def test_the_margin_is_a_tenth_within_bounds(ttl_ms: int, margin: float) -> None:
    assert fence_margin_ms(ttl_ms) == margin


def test_an_outcome_being_recorded_is_not_disturbed_by_a_renewal_that_finds_the_lease_gone() -> None:
    def work() -> None:
        store = Store(lambda: False)
        kept = keeper(store, ago_ms=LONG_MS / 3)
        kept.settle()
        with kept:
            store.asked.acquire()

    assert end_of(work) is None


def test_children_that_the_work_left_are_ended_and_nobody_else() -> None:
    def work() -> None:
        os.system("sleep 30 & sleep 30 &")
        end_children()
        left = [pid for pid in _live_processes() if pid != os.getpid() and _group_of(pid) == os.getpid()]
        os.kill(os.getpid(), signal.SIGTERM if left else signal.SIGUSR1)

    assert end_of(work) == signal.SIGUSR1


def test_a_process_that_leads_no_group_ends_nobody() -> None:
    bystander = subprocess.Popen(["sleep", "30"])
    try:
        end_children()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
