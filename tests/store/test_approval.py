"""Runs that happen only when their reviewer approves them."""

from __future__ import annotations

import pytest

from duly.common.errors import InvalidField, OccurrenceNotFound, Refused
from duly.common.identity import Occurrence
from duly.common.records.schedule import ScheduleState
from duly.common.store.attempts import Claim
from duly.common.store.holds import Resolution
from tests.store.conftest import Bench


def waiting(bench: Bench, **fields: object) -> Occurrence:
    bench.add(**{"spec": "@every:1000", "approval": "required", **fields})
    return bench.due()


def test_a_due_occurrence_waits_counted_against_nothing(bench: Bench) -> None:
    occurrence = waiting(bench)
    assert bench.queue() == []
    assert bench.acquire(occurrence).claim is Claim.WAITING
    record = bench.record(occurrence)
    assert (record.state, record.attempt, record.waits_because) == ("PENDING", 0, "approval_required")
    assert bench.held() == [(str(occurrence), None)]
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


def test_its_reviewer_lets_it_run(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench)
    assert fake_bench.store.holds.approve(occurrence, "ann") is False
    assert fake_bench.store.holds.approve(occurrence, "ann") is True
    assert fake_bench.held() == []
    fake_bench.sweep()
    assert fake_bench.queue() == [fake_bench.record(occurrence).job_id]
    fake_bench.running(occurrence)
    assert fake_bench.record(occurrence).approved_by == "ann"
    assert fake_bench.history() == ["enqueued", "approved", "delivered", "acquired", "began"]


def test_nobody_else_approves_it(bench: Bench) -> None:
    occurrence = waiting(bench)
    with pytest.raises(Refused, match="reviewer only: ann") as refusal:
        bench.store.holds.approve(occurrence, "bob")
    assert refusal.value.code == "not_reviewer"
    with pytest.raises(InvalidField):
        bench.store.holds.approve(occurrence, "a\nb")
    assert bench.acquire(occurrence).claim is Claim.WAITING


def test_only_what_waits_for_it_can_be_approved(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    with pytest.raises(Refused, match="does not wait"):
        bench.store.holds.approve(bench.due(), "ann")
    with pytest.raises(OccurrenceNotFound):
        bench.store.holds.approve(Occurrence("docs", 5), "ann")


def test_an_approval_expires_with_the_lateness_that_its_schedule_allows(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench, spec="@every:3600000", max_lateness_ms=60_000)
    fake_bench.pass_time(60_000)
    fake_bench.sweep()
    assert fake_bench.record(occurrence).state == "PENDING"
    fake_bench.pass_time(1)
    fake_bench.sweep()
    record = fake_bench.record(occurrence)
    assert (record.state, record.reason) == ("CANCELLED", "too_late")
    assert fake_bench.held() == []
    with pytest.raises(Refused, match="CANCELLED"):
        fake_bench.store.holds.approve(occurrence, "ann")


def test_a_newer_tick_takes_the_place_of_one_that_waits(fake_bench: Bench) -> None:
    first = waiting(fake_bench)
    second = fake_bench.due()
    assert fake_bench.record(first).state == "COALESCED"
    assert [name for name, _ in fake_bench.held()] == [str(second)]


def test_a_schedule_that_backfills_asks_for_each_of_them(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", approval="required", missed_run_policy="backfill", backfill_limit=3)
    fake_bench.pass_time(10_000)
    fake_bench.sweep()
    assert len(fake_bench.held()) == 3
    assert fake_bench.queue() == []


def test_an_extra_run_waits_too(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", approval="required")
    occurrence = fake_bench.store.manual.run("docs", "k").occurrence
    assert fake_bench.queue() == []
    assert fake_bench.acquire(occurrence).claim is Claim.WAITING
    fake_bench.store.holds.approve(occurrence, "ann")
    fake_bench.sweep()
    fake_bench.running(occurrence)


def test_an_extra_run_is_never_too_late_and_keeps_nobody_from_their_turn_while_it_waits(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", approval="required", max_lateness_ms=1_000)
    occurrence = fake_bench.store.manual.run("docs", "k").occurrence
    fake_bench.pass_time(60_000)
    fake_bench.sweep()
    assert fake_bench.record(occurrence).state == "PENDING"
    looked_at_again_ms = fake_bench.backend.client.zscore(fake_bench.store.keys.watch, str(occurrence))
    assert looked_at_again_ms > fake_bench.store.schedules.now_ms()


def test_deleting_its_schedule_ends_the_wait(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench)
    fake_bench.store.schedules.delete("docs")
    assert fake_bench.record(occurrence).state == "CANCELLED"
    assert fake_bench.held() == []


def test_an_approval_covers_every_attempt_and_what_a_reviewer_resolves(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench, spec="@every:3600000", retry_budget=3)
    fake_bench.store.holds.approve(occurrence, "ann")
    fake_bench.sweep()
    lease = fake_bench.running(occurrence)
    fake_bench.store.attempts.relinquish(lease, "timeout")
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    fake_bench.sweep()
    fake_bench.running(occurrence, 2)
    assert fake_bench.held() == []


def test_what_waits_behind_a_hold_waits_for_the_hold_after_its_approval(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", approval="required", missed_run_policy="backfill", backfill_limit=9)
    first, second = fake_bench.due(), fake_bench.due()
    fake_bench.store.holds.approve(first, "ann")
    fake_bench.sweep()
    fake_bench.store.attempts.relinquish(fake_bench.running(first), "timeout")
    fake_bench.store.holds.approve(second, "ann")
    assert fake_bench.acquire(second).claim is Claim.WAITING
    fake_bench.store.holds.resolve(first, Resolution.ABANDONED, "ann", "seen")
    fake_bench.sweep()
    fake_bench.running(second)


def test_its_reviewer_can_say_that_it_is_not_to_be(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench)
    for repeated in (False, True):
        assert fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "not now") == (
            "ABANDONED",
            repeated,
        )
    assert fake_bench.held() == []
    with pytest.raises(Refused, match="ABANDONED"):
        fake_bench.store.holds.approve(occurrence, "ann")


@pytest.mark.parametrize("outcome", [Resolution.COMMITTED, Resolution.NO_COMMITTED_RESULT])
def test_a_run_that_waits_is_no_hold_to_be_resolved_otherwise(fake_bench: Bench, outcome: Resolution) -> None:
    occurrence = waiting(fake_bench)
    with pytest.raises(Refused, match="not held"):
        fake_bench.store.holds.resolve(occurrence, outcome, "ann", "not now")
    assert fake_bench.acquire(occurrence).claim is Claim.WAITING


def test_history_names_the_person_who_decided(fake_bench: Bench) -> None:
    occurrence = waiting(fake_bench)
    fake_bench.store.holds.approve(occurrence, "ann")
    fake_bench.sweep()
    fake_bench.store.attempts.relinquish(fake_bench.running(occurrence), "timeout")
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "bob", "seen")
    told = [(e.event, e.worker) for e in fake_bench.store.trails.runs("docs")[0]][::-1]
    assert told == [
        ("enqueued", None),
        ("approved", "ann"),
        ("delivered", None),
        ("acquired", "w@1"),
        ("began", "w@1"),
        ("held", "w@1"),
        ("abandoned", "bob"),
    ]
