"""A work-horse is dead before its lease can pass on. Each case runs in a child of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
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

LEASE = Lease(Occurrence("docs", 1), "token", "w@1", 1, 1, 0, ttl_ms=600, expires_ms=600)


class Store:
    """Answers renewals as told."""

    def __init__(self, answer: Callable[[], bool]) -> None:
        self._answer = answer
        self.asked = 0

    def renew(self, _lease: Lease) -> bool:
        self.asked += 1
        return self._answer()


def unavailable() -> bool:
    raise StoreUnavailable("away")


def end_of(work: Callable[[], Any]) -> tuple[int | None, float]:
    """Run ``work`` in a child in a group of its own: the signal that ended it, or None, and how long it took in ms."""
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    took_ms = (time.monotonic() - started) * 1000
    return (os.WTERMSIG(status) if os.WIFSIGNALED(status) else None), took_ms


def keeper(store: Store) -> LeaseKeeper:
    return LeaseKeeper(store, LEASE, SystemClock().monotonic_ms())  # type: ignore[arg-type]


def spin(ms: float) -> None:
    until = time.monotonic() + ms / 1000
    while time.monotonic() < until:
        pass


def test_work_goes_on_while_the_lease_is_renewed() -> None:
    def work() -> None:
        store = Store(lambda: True)
        with keeper(store):
            time.sleep(1.5)
        assert store.asked >= 3

    assert end_of(work)[0] is None


def test_without_an_answer_the_kernel_ends_it_before_the_lease_ends() -> None:
    def work() -> None:
        with keeper(Store(unavailable)):
            time.sleep(5)

    ended_by, took_ms = end_of(work)
    assert ended_by == signal.SIGALRM
    assert took_ms < LEASE.ttl_ms + 200


def test_a_renewal_that_hangs_does_not_keep_it_alive() -> None:
    def hang() -> bool:
        time.sleep(10)
        return True

    def work() -> None:
        with keeper(Store(hang)):
            time.sleep(5)

    ended_by, took_ms = end_of(work)
    assert ended_by == signal.SIGALRM
    assert took_ms < LEASE.ttl_ms + 200


def test_a_lost_lease_ends_it_at_once() -> None:
    def work() -> None:
        with keeper(Store(lambda: False)):
            time.sleep(5)

    ended_by, took_ms = end_of(work)
    assert ended_by == signal.SIGKILL
    assert took_ms < LEASE.ttl_ms


def test_a_lease_that_was_over_before_it_began_runs_nothing() -> None:
    def work() -> None:
        with LeaseKeeper(Store(lambda: True), LEASE, SystemClock().monotonic_ms() - 10_000):  # type: ignore[arg-type]
            time.sleep(5)

    assert end_of(work)[0] == signal.SIGALRM


def test_the_first_renewal_counts_from_the_claim_however_late_the_work_begins() -> None:
    claimed_ms = SystemClock().monotonic_ms() - 60.0 / 100 * LEASE.ttl_ms
    keeper = LeaseKeeper(Store(lambda: True), LEASE, claimed_ms)  # type: ignore[arg-type]
    assert keeper.next_look_ms() == claimed_ms + LEASE.ttl_ms / 3


def test_leaving_the_block_disarms_the_kernel_s_timer() -> None:
    def work() -> None:
        with keeper(Store(unavailable)):
            pass
        time.sleep(1)

    assert end_of(work)[0] is None


def test_the_time_out_is_raised_in_the_work() -> None:
    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(100)
            try:
                time.sleep(5)
            except AttemptTimedOut:
                os._exit(0)
            os.kill(os.getpid(), signal.SIGTERM)

    ended_by, took_ms = end_of(work)
    assert ended_by is None
    assert took_ms < 2_000


def test_work_that_swallows_every_exception_by_habit_still_times_out() -> None:
    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(100)
            try:
                while True:
                    with contextlib.suppress(Exception):
                        spin(50)
            except AttemptTimedOut:
                os._exit(0)

    assert end_of(work)[0] is None


def test_work_that_swallows_the_time_out_itself_is_killed_after_a_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "TIMEOUT_GRACE_MS", 200.0)

    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            # Without a gap in which the exception could get out, unlike any `except BaseException` in a loop.
            signal.signal(lease_keeper.TIMEOUT_SIGNAL, lambda *_: None)
            kept.start_timeout(100)
            spin(10_000)

    ended_by, took_ms = end_of(work)
    assert ended_by == signal.SIGKILL
    assert took_ms < 3_000


def test_no_time_out_is_raised_once_the_work_has_ended() -> None:
    def work() -> None:
        with keeper(Store(lambda: True)) as kept:
            kept.start_timeout(100)
            kept.stop_timeout()
            time.sleep(0.4)

    assert end_of(work)[0] is None


def test_what_the_work_started_in_its_group_dies_with_a_lost_lease(tmp_path: Any) -> None:
    trace = tmp_path / "trace"

    def work() -> None:
        os.system(f"(sleep 1.2; touch {trace}) &")
        with keeper(Store(lambda: False)):
            time.sleep(5)

    assert end_of(work)[0] == signal.SIGKILL
    time.sleep(1.5)
    assert not trace.exists()


@pytest.mark.parametrize(("ttl_ms", "margin"), [(1_000, 100), (500, 100), (10_000, 1_000), (3_600_000, 2_000)])
def test_the_margin_is_a_tenth_within_bounds(ttl_ms: int, margin: float) -> None:
    assert fence_margin_ms(ttl_ms) == margin


def test_an_outcome_being_recorded_is_not_disturbed_by_a_renewal_that_finds_the_lease_gone() -> None:
    def work() -> None:
        with keeper(Store(lambda: False)) as kept:
            kept.settle()
            time.sleep(0.35)

    assert end_of(work)[0] is None


def test_children_that_the_work_left_are_ended_and_nobody_else() -> None:
    def work() -> None:
        os.system("sleep 30 & sleep 30 &")
        end_children()
        left = [pid for pid in _live_processes() if pid != os.getpid() and _group_of(pid) == os.getpid()]
        os.kill(os.getpid(), signal.SIGTERM if left else signal.SIGUSR1)

    assert end_of(work)[0] == signal.SIGUSR1


def test_a_process_that_leads_no_group_ends_nobody() -> None:
    bystander = subprocess.Popen(["sleep", "30"])
    try:
        end_children()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
