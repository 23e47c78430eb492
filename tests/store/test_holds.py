"""Holds: nothing gets past one but its reviewer."""

from __future__ import annotations

import pytest

from duly.common.errors import Held, InvalidField, OccurrenceNotFound, Refused, RevisionConflict
from duly.common.identity import Occurrence
from duly.common.records.schedule import ScheduleState
from duly.common.store.attempts import Claim
from duly.common.store.holds import Resolution
from tests.store.conftest import Bench


def held(bench: Bench, schedule_id: str = "docs") -> Occurrence:
    occurrence = bench.due(schedule_id)
    bench.store.attempts.relinquish(bench.running(occurrence), "timeout")
    return occurrence


def test_no_committed_result_gives_another_attempt_and_ends_the_quarantine(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = held(bench)
    assert bench.store.schedules.get("docs").state is ScheduleState.QUARANTINED
    state, repeated = bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "looked at the log")
    assert bench.record(occurrence).result_ref is None
    assert (state, repeated) == ("PENDING", False)
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE
    bench.sweep()
    assert bench.acquire(occurrence, 2).claim is Claim.ACQUIRED


def test_committed_makes_it_a_success_with_the_evidence_as_its_result(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "invoice 17 is there")
    record = bench.record(occurrence)
    assert (record.state, record.result_ref) == ("SUCCEEDED", "invoice 17 is there")
    assert record.resolution is not None
    assert record.resolution["by"] == "ann"


def test_abandoned_ends_it(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "not worth it")
    assert bench.record(occurrence).state == "ABANDONED"
    assert bench.store.schedules.get("docs").last_outcome == "ABANDONED"
    assert bench.held() == []


def test_the_same_resolution_twice_is_one_and_a_different_one_is_refused(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "seen")
    assert bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "seen") == ("SUCCEEDED", True)
    for outcome, by, evidence in (
        (Resolution.ABANDONED, "ann", "seen"),
        (Resolution.COMMITTED, "bob", "seen"),
        (Resolution.COMMITTED, "ann", "other"),
    ):
        with pytest.raises(Refused, match="differently"):
            bench.store.holds.resolve(occurrence, outcome, by, evidence)
    assert bench.history().count("succeeded") == 1


def test_another_attempt_beyond_the_budget_needs_extra_attempts(bench: Bench) -> None:
    bench.add(spec="@every:1000", retry_budget=1)
    occurrence = held(bench)
    with pytest.raises(Refused, match="--extra-attempts"):
        bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    assert bench.record(occurrence).state == "HELD"
    bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen", 1)
    bench.sweep()
    lease = bench.running(occurrence, 2)
    assert bench.store.attempts.fail(lease, "ValueError") == "held"


def test_what_is_not_held_cannot_be_resolved(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    with pytest.raises(Refused, match="PENDING"):
        bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "seen")
    with pytest.raises(OccurrenceNotFound):
        bench.store.holds.resolve(Occurrence("docs", 5), Resolution.ABANDONED, "ann", "seen")


@pytest.mark.parametrize(("by", "evidence"), [("", "x"), ("  ", "x"), ("ann", ""), ("a\nb", "x"), ("ann", "x" * 501)])
def test_a_resolution_names_a_person_and_what_they_saw(bench: Bench, by: str, evidence: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = held(bench)
    with pytest.raises(InvalidField):
        bench.store.holds.resolve(occurrence, Resolution.ABANDONED, by, evidence)
    assert bench.record(occurrence).state == "HELD"


def test_a_hold_survives_edits_pauses_and_a_deletion_followed_by_a_new_creation(bench: Bench) -> None:
    bench.add(spec="@every:100", missed_run_policy="backfill", backfill_limit=9)
    occurrence = held(bench)
    bench.store.schedules.update("docs", {"retry_budget": 50})
    bench.store.schedules.pause("docs", "why")
    bench.store.schedules.resume("docs", "latest")
    bench.sweep()
    assert bench.acquire(occurrence, 2).claim is Claim.HELD
    bench.store.schedules.delete("docs")
    bench.add(spec="@every:100", missed_run_policy="backfill", backfill_limit=9)
    assert bench.store.schedules.get("docs").state is ScheduleState.QUARANTINED
    bench.pass_time(110)
    bench.sweep()
    assert bench.events()[0][1:] == ("skipped", "quarantined")
    assert bench.held() == [(str(occurrence), "HOLD_PRIOR_OUTCOME_UNKNOWN")]


def test_a_manual_run_never_gets_past_a_hold(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    held(bench)
    with pytest.raises(Held):
        bench.store.manual.run("docs", "key")
    assert bench.history()[-1] == "held"


def test_a_hold_of_one_schedule_is_no_hold_of_another(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.add(schedule_id="other", spec="@every:1000")
    held(bench)
    assert bench.acquire(bench.due("other")).claim is Claim.ACQUIRED


def test_a_quarantine_ends_only_with_its_last_hold(bench: Bench) -> None:
    bench.add(spec="@every:100", overlap="allow", missed_run_policy="backfill", backfill_limit=9)
    first, second = bench.due(), bench.due()
    leases = [bench.running(first), bench.running(second)]
    for lease in leases:
        bench.store.attempts.relinquish(lease, "timeout")
    bench.store.holds.resolve(first, Resolution.ABANDONED, "ann", "seen")
    assert bench.store.schedules.get("docs").state is ScheduleState.QUARANTINED
    bench.store.holds.resolve(second, Resolution.ABANDONED, "ann", "seen")
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


def test_what_waited_behind_a_hold_is_delivered_when_it_is_resolved(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", overlap="allow", missed_run_policy="backfill", backfill_limit=9)
    first, second = fake_bench.due(), fake_bench.due()
    fake_bench.store.attempts.relinquish(fake_bench.running(first), "timeout")
    assert fake_bench.acquire(second).claim is Claim.WAITING
    fake_bench.backend.client.delete("rq:queue:default")
    fake_bench.store.holds.resolve(first, Resolution.ABANDONED, "ann", "seen")
    fake_bench.sweep()
    assert fake_bench.queue() == [fake_bench.record(second).job_id]


def test_holds_are_listed_in_pages_the_longest_held_first(fake_bench: Bench) -> None:
    for n in range(5):
        fake_bench.add(schedule_id=f"s{n}", spec="@every:1000")
    occurrences = [held(fake_bench, f"s{n}") for n in range(5)]
    first, after = fake_bench.store.holds.page(3)
    second, end = fake_bench.store.holds.page(3, after or "")
    assert [record.occurrence for record in first + second] == occurrences
    assert end is None
    assert fake_bench.store.holds.count() == 5


def test_a_resolution_of_an_earlier_hold_does_not_resolve_a_later_one(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=3)
    occurrence = held(fake_bench)
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "looked at 09:00")
    fake_bench.sweep()
    fake_bench.store.attempts.relinquish(fake_bench.running(occurrence, 2), "timeout")
    with pytest.raises(Refused, match="look again"):
        fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "looked at 09:00")
    assert fake_bench.record(occurrence).state == "HELD"
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "looked at 10:00")
    assert fake_bench.record(occurrence).state == "PENDING"


def test_a_hold_is_resolved_as_its_reviewer_saw_it_or_not_at_all(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    lease = fake_bench.running(occurrence)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    seen = fake_bench.record(occurrence).version
    fake_bench.store.attempts.complete(lease, "it was written after all")
    with pytest.raises(Refused, match="look again") as refusal:
        fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "nothing there", seen=seen)
    assert refusal.value.code == "hold_changed"
    seen = fake_bench.record(occurrence).version
    fake_bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "it is there", seen=seen)
    assert fake_bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "it is there", seen=seen)[1]
    assert fake_bench.record(occurrence).state == "SUCCEEDED"


def test_extra_attempts_are_recorded_and_part_of_the_resolution(bench: Bench) -> None:
    bench.add(spec="@every:1000", retry_budget=1)
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen", 2)
    record = bench.record(occurrence)
    assert record.resolution is not None
    assert (record.retry_budget, record.resolution["extra_attempts"]) == (3, 2)
    with pytest.raises(Refused, match="differently"):
        bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen", 1)


@pytest.mark.parametrize("outcome", [Resolution.COMMITTED, Resolution.ABANDONED])
def test_extra_attempts_go_with_another_attempt_only(bench: Bench, outcome: Resolution) -> None:
    bench.add(spec="@every:1000")
    with pytest.raises(InvalidField, match="extra_attempts"):
        bench.store.holds.resolve(held(bench), outcome, "ann", "seen", 1)


def test_a_release_runs_the_latest_tick_that_the_quarantine_skipped(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    occurrence = held(fake_bench)
    fake_bench.pass_time(5_500)
    fake_bench.sweep()
    with pytest.raises(Held, match="resolve its holds first"):
        fake_bench.store.schedules.release("docs")
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "seen")
    before = fake_bench.store.schedules.get("docs")
    for _ in range(2):
        latest_ms = fake_bench.store.schedules.release("docs")
        assert latest_ms == occurrence.tick_ms + 5_000
    fake_bench.sweep()
    assert fake_bench.events()[0][0] == latest_ms
    assert fake_bench.events()[0][1] == "enqueued"
    after = fake_bench.store.schedules.get("docs")
    assert (after.next_run_ms, after.carry) == (before.next_run_ms, "")
    fake_bench.running(Occurrence("docs", latest_ms or 0))
    assert fake_bench.store.schedules.release("docs") is None


def test_a_release_that_waits_for_the_next_tick_is_refused_like_any_other_and_changes_nothing(
    fake_bench: Bench,
) -> None:
    fake_bench.add(spec="@every:1000")
    release, occurrence = fake_bench.store.schedules.release, held(fake_bench)
    fake_bench.pass_time(5_500)
    fake_bench.sweep()
    for catch_up in ("latest", "none"):
        with pytest.raises(Held, match="resolve its holds first"):
            release("docs", catch_up)
    fake_bench.store.schedules.pause("docs", "a deploy")
    for catch_up, way_out in (("latest", "resume it with --catch-up latest"), ("none", "resume it first")):
        with pytest.raises(Refused, match=f"is paused; {way_out}"):
            release("docs", catch_up)
    fake_bench.store.schedules.resume("docs")
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "seen")
    before = fake_bench.store.schedules.get("docs")
    assert release("docs", "none", revision=before.revision) is None
    assert fake_bench.store.schedules.get("docs") == before
    with pytest.raises(RevisionConflict):
        release("docs", "none", revision=before.revision + 1)
    with pytest.raises(InvalidField, match="catch_up"):
        release("docs", "all")


def test_a_release_with_nothing_missed_changes_nothing(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000")
    assert fake_bench.store.schedules.release("docs") is None
    fake_bench.due()
    assert fake_bench.store.schedules.release("docs") is None
    fake_bench.store.schedules.pause("docs", "why")
    with pytest.raises(Refused, match="paused"):
        fake_bench.store.schedules.release("docs")


def test_a_release_never_runs_a_tick_from_before_an_edit_of_the_timing(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000")
    occurrence = held(fake_bench)
    fake_bench.pass_time(120_000)
    fake_bench.sweep()
    fake_bench.store.schedules.update("docs", {"spec": "@every:7200000"})
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "seen")
    assert fake_bench.store.schedules.release("docs") is None


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "allow"])
def test_a_catch_up_waits_for_the_occurrence_that_was_held(fake_bench: Bench, overlap: str) -> None:
    fake_bench.add(spec="@every:1000", overlap=overlap)
    occurrence = held(fake_bench)
    fake_bench.pass_time(5_000)
    fake_bench.sweep()
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    latest = Occurrence("docs", fake_bench.store.schedules.release("docs") or 0)
    fake_bench.sweep()
    lease = fake_bench.running(occurrence, 2)
    assert fake_bench.record(latest).state == "PENDING"
    if overlap != "allow":
        assert fake_bench.acquire(latest).claim is Claim.WAITING
    fake_bench.store.attempts.complete(lease, "")
    fake_bench.running(latest)


def test_no_resolution_of_any_earlier_hold_resolves_a_later_one(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=9)
    occurrence = held(fake_bench)
    for attempt, evidence in ((2, "first look"), (3, "second look")):
        fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", evidence)
        fake_bench.sweep()
        fake_bench.store.attempts.relinquish(fake_bench.running(occurrence, attempt), "timeout")
    for evidence in ("first look", "second look"):
        with pytest.raises(Refused, match="look again"):
            fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", evidence)
    assert fake_bench.record(occurrence).state == "HELD"
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "third look")
    for evidence in ("first look", "second look"):
        assert fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", evidence)[1]
