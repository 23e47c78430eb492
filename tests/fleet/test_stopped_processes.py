"""Processes that are stopped past their lease and continued: they must not have an effect any more."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Fleet
from tests.fleet.processes import alive, send, stop_tree, stopped, wait_until
from tests.fleet.tally import assert_every_tick_is_accounted_for, assert_no_attempt_has_two_effects

pytestmark = pytest.mark.fleet

HELD, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.SUCCEEDED
EFFECT_IS_DUE_MS = 2_000


def add_both(fleet: Fleet) -> tuple[Occurrence, Occurrence]:
    """An unsafe and an idempotent occurrence on the queue `stopping`, whose effects are due while they are stopped."""
    fields = {"kwargs": {"before_ms": EFFECT_IS_DUE_MS}, "queue": "stopping", "lease_ttl_ms": 1_500}
    return fleet.once("unsafe", "fleet.unsafe", **fields), fleet.once("idempotent", "fleet.idempotent", **fields)


def check_outcomes(
    fleet: Fleet, unsafe: Occurrence, idempotent: Occurrence, first_horses: list[int], reason: str
) -> None:
    held = fleet.wait_for_state(unsafe, HELD)
    assert (held.hold_reason, held.attempt) == (reason, 1)
    assert fleet.wait_for_state(idempotent, SUCCEEDED).attempt == 2
    assert not fleet.effects_of(unsafe)
    (effect,) = fleet.effects_of(idempotent)
    assert effect.attempt == 2
    assert effect.pid not in first_horses


def test_a_work_horse_that_is_stopped_is_killed_with_its_lease_and_its_worker_goes_on(fleet: Fleet) -> None:
    fleet.start("a", workers=2, queues=["stopping"])
    fleet.wait_for_workers("a.1", "a.2")
    unsafe, idempotent = add_both(fleet)
    horses = [fleet.wait_for_effect(each).pid for each in (unsafe, idempotent)]
    for horse in horses:
        os.kill(horse, signal.SIGSTOP)
    wait_until(lambda: all(stopped(each) or not alive(each) for each in horses), "the work-horses are stopped")
    wait_until(lambda: not any(alive(each) for each in horses), "the work-horses are dead")
    check_outcomes(fleet, unsafe, idempotent, horses, "HOLD_PRIOR_OUTCOME_UNKNOWN")
    fleet.wait_for_instant(fleet.now_ms() + EFFECT_IS_DUE_MS)
    check_outcomes(fleet, unsafe, idempotent, horses, "HOLD_PRIOR_OUTCOME_UNKNOWN")


def test_what_a_task_started_ends_with_its_lease_while_its_worker_is_stopped(fleet: Fleet) -> None:
    first = fleet.start("a", workers=1, queues=["stopping"])
    fleet.wait_for_workers("a.1")
    fields = {"kwargs": {"before_ms": EFFECT_IS_DUE_MS}, "queue": "stopping", "lease_ttl_ms": 1_500}
    occurrence = fleet.once("tool", "fleet.delegating", **fields)
    fleet.wait_for_effect(occurrence)
    worker = first.pid_of("1")
    os.kill(worker, signal.SIGSTOP)
    wait_until(lambda: stopped(worker), "the worker is stopped")
    fleet.start("b", workers=1, queues=["stopping"])
    fleet.wait_for_state(occurrence, HELD)
    fleet.wait_for_instant(fleet.now_ms() + EFFECT_IS_DUE_MS)
    assert not fleet.effects_of(occurrence)
    os.kill(worker, signal.SIGCONT)


def test_a_whole_container_stopped_past_its_leases_runs_nothing_when_it_continues(fleet: Fleet) -> None:
    frozen = fleet.start("a", workers=2, queues=["stopping"])
    fleet.wait_for_workers("a.1", "a.2")
    fleet.wait_for_holder("a.s")
    unsafe, idempotent = add_both(fleet)
    horses = [fleet.wait_for_effect(each).pid for each in (unsafe, idempotent)]
    pids = stop_tree(frozen.pid)
    assert set(horses) <= set(pids)
    fleet.start("b", workers=1, queues=["stopping"])
    assert fleet.wait_for_holder("b.s")
    check_outcomes(fleet, unsafe, idempotent, horses, "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN")
    for pid in pids:
        send(pid, signal.SIGCONT)
    wait_until(lambda: not any(alive(each) for each in horses), "the work-horses are dead", 2.0)
    fleet.wait_for_instant(fleet.now_ms() + 500)
    check_outcomes(fleet, unsafe, idempotent, horses, "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN")
    # The container that was stopped lost the duty, knows it, and is of use again.
    fleet.containers["b"].kill()
    fleet.wait_for_holder("a.s")
    again = fleet.once("again", "fleet.unsafe", queue="stopping")
    fleet.wait_for_state(again, SUCCEEDED)


def test_a_stopped_duty_holder_dispatches_nothing_twice_when_it_continues(
    new_fleet: Callable[..., Fleet],
) -> None:
    fleet = new_fleet(duty_ttl_ms=1_500)
    first = fleet.start("a")
    fleet.wait_for_holder("a.s")
    record = fleet.add("ticks", overlap="allow")
    fleet.start("b")
    fleet.wait_for_workers("b.1", "b.s")
    scheduler = first.pid_of("s")
    for _ in range(2):
        os.kill(scheduler, signal.SIGSTOP)
        stopped_ms = fleet.now_ms()
        fleet.wait_for_holder("b.s")
        assert fleet.now_ms() - stopped_ms < 4_000
        os.kill(scheduler, signal.SIGCONT)
        other = fleet.containers["b"].pid_of("s")
        os.kill(other, signal.SIGSTOP)
        fleet.wait_for_holder("a.s")
        os.kill(other, signal.SIGCONT)
    fleet.settle("ticks")

    assert record.next_run_ms is not None
    assert_every_tick_is_accounted_for(fleet.store, "ticks", record.next_run_ms)
    assert_no_attempt_has_two_effects(fleet.effects())
