"""Processes that are killed: nothing of theirs goes on, and what they ran is reported or found."""

from __future__ import annotations

import os
import signal

import pytest

from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Fleet
from tests.fleet.processes import alive, wait_until
from tests.fleet.tally import history

pytestmark = pytest.mark.fleet

HELD, RETRY_WAIT, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.RETRY_WAIT, OccurrenceState.SUCCEEDED


def test_a_killed_worker_takes_its_work_horse_along_and_is_started_again(fleet: Fleet) -> None:
    first = fleet.start("a")
    fleet.wait_for_workers("a.1")
    unsafe = fleet.once("unsafe", "fleet.unsafe", kwargs={"before_ms": 1_500})
    horse = fleet.wait_for_effect(unsafe).pid
    worker = first.pid_of("1")
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not alive(horse), "the orphan is dead", 1.0)
    held = fleet.wait_for_state(unsafe, HELD)
    assert held.hold_reason == "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN"
    assert not fleet.effects_of(unsafe)
    next_one = fleet.once("next", "fleet.unsafe")
    fleet.wait_for_state(next_one, SUCCEEDED, deadline_s=15)
    assert first.pid_of("1") != worker


def test_what_a_killed_work_horse_started_ends_with_it(fleet: Fleet) -> None:
    fleet.start("a")
    fleet.wait_for_workers("a.1")
    delegated = fleet.once("delegated", "fleet.delegating", kwargs={"before_ms": 1_200})
    os.kill(fleet.wait_for_effect(delegated).pid, signal.SIGKILL)
    fleet.wait_for_state(delegated, HELD)
    fleet.wait_for_instant(delegated.tick_ms + 3_000)
    assert not fleet.effects()


def test_what_a_work_horse_started_ends_with_a_killed_worker(fleet: Fleet) -> None:
    only = fleet.start("a")
    fleet.wait_for_workers("a.1")
    delegated = fleet.once("delegated", "fleet.delegating", kwargs={"before_ms": 1_200})
    fleet.wait_for_effect(delegated)
    os.kill(only.pid_of("1"), signal.SIGKILL)
    fleet.wait_for_state(delegated, HELD)
    fleet.wait_for_instant(delegated.tick_ms + 3_000)
    assert not fleet.effects()


def test_a_killed_supervisor_takes_everything_along(fleet: Fleet) -> None:
    only = fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    unsafe = fleet.once("unsafe", "fleet.unsafe", kwargs={"before_ms": 1_500})
    fleet.wait_for_effect(unsafe)
    before = only.kill()
    assert len(before) >= 5  # supervisor, scheduler, two workers, a work-horse
    wait_until(lambda: not any(alive(pid) for pid in before), "all children are gone", 1.0)
    other = fleet.start("b")
    fleet.wait_for_state(unsafe, HELD)
    fleet.wait_for_instant(unsafe.tick_ms + 2_000)
    assert not fleet.effects_of(unsafe)
    assert alive(other.pid)


def test_a_killed_work_horse_is_reported_by_its_parent_at_once(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    waiting = {"kwargs": {"before_ms": 20_000}, "lease_ttl_ms": 20_000, "retry_budget": 2}
    waiting["backoff"] = {"base_ms": 60_000}
    unsafe = fleet.once("unsafe", "fleet.unsafe", **waiting)
    idempotent = fleet.once("idempotent", "fleet.idempotent", **waiting)
    for occurrence, after in ((unsafe, HELD), (idempotent, RETRY_WAIT)):
        horse = fleet.wait_for_effect(occurrence).pid
        killed_ms = fleet.now_ms()
        os.kill(horse, signal.SIGKILL)
        fleet.wait_for_state(occurrence, after, deadline_s=10)
        said = history(fleet.store, occurrence.schedule_id)[-1]
        assert said.at_ms - killed_ms < 5_000, "well before the lease would have expired"
        assert not fleet.effects_of(occurrence)


def test_a_lost_lease_ends_the_work_and_the_loser_records_nothing(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    unsafe = fleet.once("unsafe", "fleet.unsafe", kwargs={"before_ms": 2_500})
    idempotent = fleet.once("idempotent", "fleet.idempotent", kwargs={"before_ms": 2_500})
    horses = {each: fleet.wait_for_effect(each).pid for each in (unsafe, idempotent)}
    for occurrence in horses:
        assert fleet.store.client.delete(fleet.store.keys.lease(occurrence)) == 1
    for horse in horses.values():
        wait_until(lambda horse=horse: not alive(horse), "the work-horse ended itself", 2.0)
    held = fleet.wait_for_state(unsafe, HELD)
    assert (held.hold_reason, held.prior_outcome, held.result_ref) == ("HOLD_PRIOR_OUTCOME_UNKNOWN", "UNKNOWN", None)
    assert not fleet.effects_of(unsafe)
    done = fleet.wait_for_state(idempotent, SUCCEEDED)
    assert done.attempt == 2
    assert [each.attempt for each in fleet.effects_of(idempotent)] == [2]
