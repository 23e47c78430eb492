"""A failover loses the write of a lease while its worker runs, and a second worker is granted the same occurrence."""

from __future__ import annotations

import pytest

from duly.common.contract import write_case
from duly.common.records.occurrence import OccurrenceState
from duly.common.records.schedule import ScheduleState
from duly.common.store.holds import Resolution
from tests.failover import forget_the_lease
from tests.fleet.harness import Fleet
from tests.fleet.processes import alive, wait_until
from tests.fleet.tally import audit, history

pytestmark = pytest.mark.fleet

HELD, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.SUCCEEDED
TTL_MS = 4_500
"""Renewed each third of it: time enough for the second worker to begin before the first one asks again."""


def test_two_owners_are_stopped_before_their_effects_and_held_with_both_claims(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    fields = {"spec": "@every:1000", "lease_ttl_ms": TTL_MS, "kwargs": {"before_ms": 8_000}}
    fleet.add("unsafe", "fleet.unsafe", **fields)
    began = wait_until(lambda: fleet.effects("began"), "the first began")[0]
    (occurrence,) = [o.occurrence for o in fleet.occurrences("unsafe") if o.state == "RUNNING"]
    forget_the_lease(fleet.store, occurrence)
    both = wait_until(
        lambda: fleet.effects_of(occurrence, "began")[1:] and fleet.effects_of(occurrence, "began"), "both"
    )
    assert {each.pid for each in both} > {began.pid}

    held = fleet.wait_for_state(occurrence, HELD)
    assert held.hold_reason == "HOLD_CONCURRENT_LEASE_CLAIM"
    claims = write_case(held.decisions[-1].case)["observed"]["lease_claims"]
    assert len({claim["lease_owner"] for claim in claims}) == 2
    assert held.decisions[-1].again().decision == "HOLD_CONCURRENT_LEASE_CLAIM"
    for each in both:
        wait_until(lambda each=each: not alive(each.pid), "both ended themselves", TTL_MS / 1000)
    assert not fleet.effects_of(occurrence)

    assert fleet.store.schedules.get("unsafe").state is ScheduleState.QUARANTINED
    wait_until(
        lambda: [e for e in audit(fleet.store, "unsafe") if e.reason == "quarantined"][1:], "later ticks are skipped"
    )
    assert [o.occurrence for o in fleet.occurrences("unsafe") if o.state == "HELD"] == [occurrence]
    fleet.store.holds.resolve(occurrence, Resolution.ABANDONED, "a reviewer", "no effect of either")
    wait_until(lambda: [o for o in fleet.occurrences("unsafe") if o.state == "RUNNING"], "the next tick runs")


def test_the_results_of_both_are_kept_when_they_could_not_be_stopped(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    fields = {"lease_ttl_ms": 30_000, "kwargs": {"before_ms": 1_500}}
    occurrence = fleet.once("unsafe", "fleet.unsafe", **fields)
    fleet.wait_for_effect(occurrence)
    forget_the_lease(fleet.store, occurrence)
    wait_until(lambda: len(fleet.effects_of(occurrence)) == 2, "both had their effect before either was told")
    wait_until(lambda: len(fleet.store.attempts.get(occurrence).late_results) == 2, "both results are kept")
    record = fleet.store.attempts.get(occurrence)
    assert (record.state, record.hold_reason) == (HELD, "HOLD_CONCURRENT_LEASE_CLAIM")
    assert [e.event for e in history(fleet.store, "unsafe", occurrence.tick_ms)].count("succeeded") == 0
