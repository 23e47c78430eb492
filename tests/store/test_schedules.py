"""Schedules: written once, edited by compare-and-set, and no tick lost or repeated by an edit."""

from __future__ import annotations

import pytest

from duly.common.errors import (
    InvalidField,
    Refused,
    RevisionConflict,
    ScheduleExists,
    ScheduleNotFound,
    StoreUnavailable,
)
from duly.common.identity import Occurrence
from duly.common.records.schedule import ScheduleState
from duly.common.settings import Settings
from duly.common.store import Store
from duly.common.store.schedule_reader import UnusableSchedule
from tests.store.conftest import Bench, definition

START = 1_767_225_600_000


def test_the_first_tick_of_a_new_schedule_is_the_first_after_it_is_written(bench: Bench) -> None:
    before = bench.store.schedules.now_ms()
    record = bench.add()
    assert record.next_run_ms is not None
    assert before < record.next_run_ms <= record.created_ms + 100
    assert record.revision == 1
    assert record.state is ScheduleState.ACTIVE


def test_a_start_in_the_future_moves_the_first_tick_there(bench: Bench) -> None:
    record = bench.add(start_at="2040-01-01T00:00:00Z")
    assert record.next_run_ms == 2_208_988_800_000


def test_a_schedule_that_has_ended_stands_at_no_tick_and_is_never_due(bench: Bench) -> None:
    record = bench.add(end_at="2020-01-01T00:00:00Z")
    assert record.next_run_ms is None
    assert bench.sweep().ticks == 0


def test_the_last_tick_before_the_end_runs_and_nothing_after_it(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", end_at="2026-01-01T00:00:02Z")
    fake_bench.pass_time(10_000)
    fake_bench.sweep()
    assert fake_bench.events()[0] == (1_767_225_602_000, "enqueued", "accepted")
    assert fake_bench.store.schedules.get("docs").next_run_ms is None


def test_a_second_schedule_of_the_same_id_is_refused_and_changes_nothing(bench: Bench) -> None:
    bench.add()
    with pytest.raises(ScheduleExists):
        bench.add(task="other.task")
    assert bench.store.schedules.get("docs").definition.task == "docs.refresh"


def test_unknown_schedules_are_named(bench: Bench) -> None:
    for change in (
        lambda: bench.store.schedules.get("nope"),
        lambda: bench.store.schedules.update("nope", {"queue": "q"}),
        lambda: bench.store.schedules.pause("nope", "why"),
        lambda: bench.store.schedules.resume("nope"),
        lambda: bench.store.schedules.delete("nope"),
        lambda: bench.store.manual.run("nope", "k"),
    ):
        with pytest.raises(ScheduleNotFound, match="nope"):
            change()


def test_pages_are_in_order_and_complete(bench: Bench) -> None:
    ids = [f"s{n:02}" for n in range(7)]
    for schedule_id in reversed(ids):
        bench.add(schedule_id=schedule_id)
    first, after = bench.store.schedules.page(3)
    assert after == "s02"
    bench.add(schedule_id="s00a")  # before the cursor: the next page is not disturbed
    second, after = bench.store.schedules.page(3, after)
    third, end = bench.store.schedules.page(3, after or "")
    assert [r.schedule_id for r in first + second + third] == ids
    assert end is None


def test_a_change_to_an_older_revision_is_refused(bench: Bench) -> None:
    bench.add()
    bench.store.schedules.update("docs", {"queue": "slow"}, revision=1)
    for change in (
        lambda: bench.store.schedules.update("docs", {"queue": "fast"}, revision=1),
        lambda: bench.store.schedules.pause("docs", "why", revision=1),
        lambda: bench.store.schedules.delete("docs", revision=1),
    ):
        with pytest.raises(RevisionConflict):
            change()
    assert bench.store.schedules.get("docs").definition.queue == "slow"


def test_editing_anything_but_the_timing_keeps_the_next_run(bench: Bench) -> None:
    record = bench.add(spec="@every:60000")
    edit = bench.store.schedules.update("docs", {"queue": "slow", "max_lateness_ms": 5000})
    assert edit.record.next_run_ms == record.next_run_ms
    assert edit.record.revision == 2
    assert edit.carried is None


def test_editing_the_spec_restarts_from_the_first_tick_after_the_edit(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000")
    fake_bench.pass_time(1_500)
    edit = fake_bench.store.schedules.update("docs", {"spec": "@every:2000"})
    assert edit.record.next_run_ms == 1_767_225_602_000
    assert edit.next_run_before_ms == 1_767_225_660_000


def test_due_ticks_that_nobody_swept_survive_an_edit_with_their_own_definition(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", task="old.task")
    fake_bench.pass_time(3_400)
    edit = fake_bench.store.schedules.update("docs", {"spec": "@every:5000", "task": "new.task"})
    assert edit.carried is not None
    assert (edit.carried.count, edit.carried.last_ms) == (3, 1_767_225_603_000)
    fake_bench.sweep()
    assert sorted(fake_bench.events()) == [
        (1_767_225_602_000, "skipped", "backlog_dropped"),
        (1_767_225_603_000, "enqueued", "accepted"),
    ]
    occurrence = fake_bench.record(_occurrence(1_767_225_603_000))
    assert occurrence.task == "old.task"
    fake_bench.pass_time(1_600)
    fake_bench.sweep()
    assert fake_bench.events()[0] == (1_767_225_605_000, "enqueued", "accepted")
    assert fake_bench.record(_occurrence(1_767_225_605_000)).task == "new.task"


def test_several_unswept_edits_are_settled_in_their_order(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(1_100)
    fake_bench.store.schedules.update("docs", {"spec": "@every:700"})
    fake_bench.pass_time(1_000)
    fake_bench.store.schedules.update("docs", {"spec": "@every:10000"})
    fake_bench.sweep()
    accepted = [tick for tick, outcome, _ in fake_bench.events() if outcome == "enqueued"]
    start = 1_767_225_600_000
    assert accepted[1] == start + 1_000
    assert start + 1_100 < accepted[0] <= start + 2_100
    assert accepted[0] % 700 == 0


def test_an_edit_never_repeats_a_tick_that_was_swept(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    edit = fake_bench.store.schedules.update("docs", {"spec": "@every:500"})
    assert edit.record.next_run_ms == 1_767_225_601_500
    assert edit.carried is None


def test_an_open_occurrence_runs_with_the_definition_it_was_enqueued_with(bench: Bench) -> None:
    bench.add(kwargs={"path": "old"})
    occurrence = bench.due()
    bench.store.schedules.update("docs", {"kwargs": {"path": "new"}, "spec": "@every:3600000"})
    grant = bench.acquire(occurrence)
    assert grant.work is not None
    assert grant.work.kwargs == {"path": "old"}


def test_a_pause_does_not_make_an_open_occurrence_lose_its_definition(bench: Bench) -> None:
    bench.add(kwargs={"path": "old"})
    occurrence = bench.due()
    bench.store.schedules.pause("docs", "deploying")
    grant = bench.acquire(occurrence)
    assert grant.work is not None
    assert grant.work.kwargs == {"path": "old"}


def test_superseded_definitions_go_when_the_last_open_occurrence_ends(bench: Bench) -> None:
    bench.add()
    occurrence = bench.due()
    bench.store.schedules.update("docs", {"task": "new.task", "spec": "@every:3600000"})
    assert bench.backend.client.exists(bench.store.keys.superseded("docs"))
    lease = bench.running(occurrence)
    bench.store.attempts.complete(lease, "ref")
    assert not bench.backend.client.exists(bench.store.keys.superseded("docs"))


def test_while_paused_nothing_is_due_and_resuming_records_the_gap(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.schedules.pause("docs", "moving house")
    fake_bench.pass_time(10_500)
    fake_bench.sweep()
    assert fake_bench.events() == []
    edit = fake_bench.store.schedules.resume("docs")
    assert edit.record.next_run_ms == 1_767_225_611_000
    assert edit.dropped is not None
    [event] = fake_bench.store.trails.events("docs")[0]
    assert (event.outcome, event.reason, event.count) == ("skipped", "backlog_dropped", 10)
    assert (event.first_tick_ms, event.last_tick_ms) == (1_767_225_601_000, 1_767_225_610_000)


def test_resuming_with_catch_up_runs_the_latest_missed_tick(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.schedules.pause("docs", "moving house")
    fake_bench.pass_time(10_500)
    fake_bench.store.schedules.resume("docs", "latest")
    fake_bench.sweep()
    assert fake_bench.events()[0] == (1_767_225_610_000, "enqueued", "accepted")
    assert fake_bench.store.trails.events("docs")[0][1].count == 9


def test_a_pause_with_an_end_ends_by_itself(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.schedules.pause("docs", "lunch", 1_767_225_605_500)
    fake_bench.pass_time(4_000)
    fake_bench.sweep()
    assert fake_bench.store.schedules.get("docs").state is ScheduleState.PAUSED
    fake_bench.pass_time(1_600)
    fake_bench.sweep()
    assert fake_bench.store.schedules.get("docs").state is ScheduleState.ACTIVE
    fake_bench.pass_time(500)
    fake_bench.sweep()
    assert fake_bench.events()[0] == (1_767_225_606_000, "enqueued", "accepted")


def test_an_edit_of_the_timing_while_paused_records_the_ticks_it_passes_over(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.schedules.pause("docs", "why")
    fake_bench.pass_time(5_500)
    edit = fake_bench.store.schedules.update("docs", {"spec": "@every:60000"})
    assert edit.dropped is not None
    assert edit.dropped.count == 5
    assert edit.record.state is ScheduleState.PAUSED
    assert fake_bench.store.trails.events("docs")[0][0].count == 5


def test_resuming_what_is_not_paused_is_refused(bench: Bench) -> None:
    bench.add()
    with pytest.raises(Refused, match="not paused"):
        bench.store.schedules.resume("docs")


def test_a_pause_that_ends_in_the_past_is_refused(bench: Bench) -> None:
    bench.add()
    with pytest.raises(InvalidField, match="until"):
        bench.store.schedules.pause("docs", "why", 1)


def test_deleting_keeps_the_trail_and_records_the_due_ticks_that_nobody_swept(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(3_500)
    fake_bench.store.schedules.delete("docs")
    [event] = fake_bench.store.trails.events("docs")[0]
    assert (event.outcome, event.reason, event.count) == ("skipped", "backlog_dropped", 3)
    fake_bench.sweep()
    assert fake_bench.queue() == []


def test_deleting_cancels_what_has_not_begun(bench: Bench) -> None:
    bench.add()
    occurrence = bench.due()
    bench.store.schedules.delete("docs")
    record = bench.record(occurrence)
    assert (record.state, record.reason) == ("CANCELLED", "schedule_deleted")


def test_a_running_attempt_survives_the_deletion_of_its_schedule_and_leaves_no_ghost(bench: Bench) -> None:
    bench.add()
    lease = bench.running(bench.due())
    bench.store.schedules.delete("docs")
    assert bench.store.attempts.complete(lease, "ref") == "recorded"
    assert not bench.store.schedules.exists("docs")


def test_a_schedule_created_anew_does_not_run_what_the_old_one_enqueued(bench: Bench) -> None:
    bench.add(backoff={"base_ms": 0}, retry_budget=5)
    occurrence = bench.due()
    lease = bench.running(occurrence)
    bench.store.attempts.fail(lease, "ValueError")
    bench.store.schedules.delete("docs")
    bench.add(spec="@every:3600000")
    bench.sweep()
    assert bench.record(occurrence).state == "CANCELLED"


def test_turning_a_calendar_into_an_interval_must_restate_the_model(bench: Bench) -> None:
    bench.add(spec="0 9 * * *")
    with pytest.raises(InvalidField) as refusal:
        bench.store.schedules.update("docs", {"spec": "@every:60000", "lease_ttl_ms": 2000})
    for name in ("missed_run_policy", "jitter_window_ms", "retry_budget", "backoff"):
        assert name in str(refusal.value)
    assert "lease_ttl_ms" not in str(refusal.value)
    assert bench.store.schedules.get("docs").revision == 1
    edit = bench.store.schedules.update(
        "docs",
        {
            "spec": "@every:60000",
            "lease_ttl_ms": 2000,
            "missed_run_policy": "run_once",
            "jitter_window_ms": 0,
            "retry_budget": 3,
            "backoff": {},
        },
    )
    assert edit.record.definition.expression.schedule_type == "interval"


def test_the_id_of_a_schedule_cannot_be_edited(bench: Bench) -> None:
    bench.add()
    with pytest.raises(InvalidField, match="schedule_id"):
        bench.store.schedules.update("docs", {"schedule_id": "other"})


def test_a_preview_of_an_edit_changes_nothing(bench: Bench) -> None:
    bench.add()
    record = bench.add(schedule_id="other", spec="@every:3600000")
    edit = bench.store.schedules.preview_update("other", {"task": "new.task", "spec": "@every:1000"})
    assert edit.record.definition.task == "new.task"
    assert edit.record.next_run_ms == edit.next_run_ms < (record.next_run_ms or 0)
    assert bench.store.schedules.get("other").revision == 1
    edit = bench.store.schedules.preview_update("docs", {"task": "new.task"})
    assert bench.store.schedules.get("docs").definition.task == "docs.refresh"


def test_an_unreachable_store_is_one_clear_error(unreachable_url: str) -> None:
    store = Store.connect(Settings(redis_url=unreachable_url))
    with pytest.raises(StoreUnavailable) as error:
        store.schedules.add(definition())
    assert "127.0.0.1" not in str(error.value)


def _occurrence(tick_ms: int) -> Occurrence:

    return Occurrence("docs", tick_ms)


def test_deleting_records_the_unswept_ticks_of_earlier_definitions_too(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(2_500)
    fake_bench.store.schedules.update("docs", {"spec": "@every:600"})
    fake_bench.pass_time(1_000)
    fake_bench.store.schedules.delete("docs")
    [event] = fake_bench.store.trails.events("docs")[0]
    assert (event.reason, event.count) == ("backlog_dropped", 3)
    assert (event.first_tick_ms, event.last_tick_ms) == (START + 1_000, START + 3_000)


def test_a_schedule_may_be_written_paused_and_has_no_tick_until_it_is_resumed(fake_bench: Bench) -> None:
    record = fake_bench.store.schedules.add(definition(spec="@every:1000"), paused="not yet")
    assert (record.state, record.note) == (ScheduleState.PAUSED, "not yet")
    fake_bench.pass_time(2_500)
    fake_bench.sweep()
    assert fake_bench.events() == []
    fake_bench.store.schedules.resume("docs")
    fake_bench.pass_time(500)
    fake_bench.sweep()
    assert fake_bench.events()[0] == (START + 3_000, "enqueued", "accepted")


def test_one_unusable_schedule_is_named_hides_none_of_the_others_and_can_be_deleted(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    for schedule_id in ("a", "broken", "c"):
        bench.add(schedule_id=schedule_id)
    bench.backend.client.hset(bench.store.keys.schedule("broken"), "definition", "{}")
    with pytest.raises(UnusableSchedule, match="broken"):
        bench.store.schedules.get("broken")
    assert [record.schedule_id for record in bench.store.schedules.page(10)[0]] == ["a", "c"]
    assert "broken" in caplog.text
    bench.store.schedules.delete("broken")
    assert not bench.store.schedules.exists("broken")


def test_an_unusable_schedule_is_deleted_at_the_revision_that_was_seen_and_at_no_other(bench: Bench) -> None:
    bench.add()
    bench.store.schedules.update("docs", {"queue": "slow"})
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "definition", "{}")
    with pytest.raises(RevisionConflict):
        bench.store.schedules.delete("docs", revision=1)
    assert bench.store.schedules.seen("docs") == (2, 0)
    bench.store.schedules.delete("docs", revision=2)
    assert not bench.store.schedules.exists("docs")


def test_an_unusable_schedule_without_a_revision_that_can_be_read_can_be_deleted_too(bench: Bench) -> None:
    bench.add()
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "revision", "x")
    revision, _ = bench.store.schedules.seen("docs")
    assert revision == 0
    bench.store.schedules.delete("docs", revision=revision)
    assert not bench.store.schedules.exists("docs")


@pytest.mark.parametrize("field", ["revision", "next_run_ms", "carry", "definition"])
def test_a_schedule_that_lacks_a_field_can_be_deleted(bench: Bench, field: str) -> None:
    bench.add()
    bench.backend.client.hdel(bench.store.keys.schedule("docs"), field)
    bench.store.schedules.delete("docs")
    assert not bench.store.schedules.exists("docs")


def test_a_schedule_whose_carried_ticks_cannot_be_read_is_unusable_to_whoever_asks_and_can_be_deleted(
    bench: Bench,
) -> None:
    bench.add()
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "carry", "[[")
    schedules = bench.store.schedules
    for ask in (
        lambda: schedules.get("docs"),
        lambda: schedules.update("docs", {"spec": "@every:60000"}),
        lambda: schedules.pause("docs", "why"),
        lambda: schedules.release("docs"),
    ):
        with pytest.raises(UnusableSchedule, match="carry"):
            ask()
    schedules.delete("docs", revision=1)
    assert not schedules.exists("docs")


@pytest.mark.parametrize("note", ["", "  ", "a\nb", "\x1b[31m", "x" * 501])
def test_a_pause_needs_a_note_of_one_printable_line(bench: Bench, note: str) -> None:
    bench.add()
    with pytest.raises(InvalidField, match="note"):
        bench.store.schedules.pause("docs", note)
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


@pytest.mark.parametrize(
    "url",
    ["http://x", "localhost:6379", "redis://h/abc", "redis://h?foo=bar", "redis://h:port/0", "redis://h/0/1", ""],
)
def test_an_unusable_url_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(InvalidField, match="--redis-url"):
        Store.connect(Settings(redis_url=url))


def test_carried_ticks_are_settled_after_a_pause_also_when_no_tick_is_left(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000", end_at="2026-01-01T01:00:00Z")
    fake_bench.pass_time(61_000)
    fake_bench.store.schedules.update("docs", {"spec": "@every:120000"})
    fake_bench.store.schedules.pause("docs", "why")
    fake_bench.pass_time(2 * 3_600_000)
    fake_bench.store.schedules.resume("docs")
    fake_bench.sweep()
    assert (START + 60_000, "enqueued", "accepted") in fake_bench.events()
    assert fake_bench.store.schedules.get("docs").carry == ""


def test_ticks_after_the_end_of_a_pause_that_nobody_swept_follow_the_policy(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    fake_bench.store.schedules.pause("docs", "why", START + 3_600_000)
    fake_bench.pass_time(3_660_000)
    fake_bench.sweep()
    assert fake_bench.events() == [(START + 3_600_000, "enqueued", "accepted")]


def test_ticks_due_before_a_pause_are_recorded_when_the_schedule_is_deleted(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000")
    fake_bench.pass_time(61_000)
    fake_bench.store.schedules.pause("docs", "why")
    fake_bench.store.schedules.delete("docs")
    assert fake_bench.events() == [(START + 60_000, "skipped", "backlog_dropped")]


def test_an_edit_does_not_release_a_jittered_tick_early(fake_bench: Bench) -> None:
    record = fake_bench.add(spec="@every:3600000", jitter_window_ms=3_000_000)
    tick_ms = record.next_run_ms or 0
    release_ms = record.definition.timetable.release_ms(tick_ms)
    fake_bench.until(tick_ms + 1)
    fake_bench.store.schedules.update("docs", {"end_at": "2027-01-01T00:00:00Z"})
    fake_bench.sweep()
    assert fake_bench.events() == []
    fake_bench.until(release_ms)
    fake_bench.sweep()
    assert fake_bench.events() == [(tick_ms, "enqueued", "accepted")]


def test_many_edits_while_an_occurrence_is_held_keep_only_the_definitions_it_needs(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    fake_bench.store.attempts.relinquish(fake_bench.running(fake_bench.due()), "timeout")
    for number in range(20):
        fake_bench.store.schedules.update("docs", {"kwargs": {"number": number}})
    assert fake_bench.backend.client.hlen(fake_bench.store.keys.superseded("docs")) == 1


def test_lateness_must_leave_room_for_the_jitter(bench: Bench) -> None:
    with pytest.raises(InvalidField, match="max_lateness_ms"):
        bench.add(spec="@every:3600000", jitter_window_ms=5_000, max_lateness_ms=5_000)


def test_a_carried_tick_runs_with_the_arguments_it_was_defined_with(bench: Bench) -> None:
    record = bench.add(spec="@every:1000", kwargs={"path": "old"})
    bench.until(record.next_run_ms or 0)
    bench.store.schedules.update("docs", {"spec": "@every:3600000", "kwargs": {"path": "new"}})
    bench.sweep()
    [carried] = [tick for tick, outcome, _ in bench.events() if outcome == "enqueued"]
    grant = bench.acquire(Occurrence("docs", carried))
    assert grant.work is not None
    assert grant.work.kwargs == {"path": "old"}


def test_an_extra_run_keeps_its_definition_through_carried_ticks_and_a_further_edit(bench: Bench) -> None:
    record = bench.add(spec="@every:1000", kwargs={"path": "first"}, overlap="allow")
    bench.until(record.next_run_ms or 0)
    bench.store.schedules.update("docs", {"spec": "@every:3600000", "kwargs": {"path": "second"}})
    run = bench.store.manual.run("docs", "key").occurrence
    bench.sweep()
    bench.store.schedules.update("docs", {"kwargs": {"path": "third"}})
    grant = bench.acquire(run)
    assert grant.work is not None
    assert grant.work.kwargs == {"path": "second"}
