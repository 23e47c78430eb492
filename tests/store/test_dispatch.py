"""The sweep: due ticks become occurrences once, in order, on record, and only then does the schedule advance."""

from __future__ import annotations

import json
from typing import Any

import pytest
import redis
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

from duly.common.errors import Refused, StoreRefused, StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.store import jobs
from duly.common.store.dispatch import Action, DispatchOrder, TickOrder
from duly.common.store.scripts import Scripts
from duly.common.store.survey import DueSchedule, WatchedOccurrence
from duly.common.store.sweeping import SweepStore
from duly.scheduler import known, pace, sweep
from duly.scheduler.hooks import EnqueueContext
from duly.scheduler.orders import TICKS_PER_SCHEDULE
from duly.scheduler.sweep import MOST_PAUSES, Sweeper
from tests.conftest import Backend
from tests.store.conftest import Bench, definition

START = 1_767_225_600_000


def test_a_due_tick_becomes_one_job_on_its_queue_one_record_and_one_event(bench: Bench) -> None:
    bench.add(queue="docs-queue")
    occurrence = bench.due()
    record = bench.record(occurrence)
    assert (record.state, record.attempt, record.kind) == ("PENDING", 0, "scheduled")
    assert bench.queue("docs-queue") == [record.job_id]
    assert bench.events()[0] == (occurrence.tick_ms, "enqueued", "accepted")
    assert bench.history()[-1] == "enqueued"


def test_nothing_is_dispatched_before_its_time(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(999)
    assert fake_bench.sweep().ticks == 0
    fake_bench.pass_time(1)
    assert fake_bench.sweep().ticks == 1


def test_the_job_is_what_rq_itself_would_have_written_but_for_empty_fields(valkey: Backend) -> None:
    bench = Bench(valkey, valkey.store())
    bench.add()
    occurrence = bench.due()
    assert valkey.url is not None
    raw = redis.Redis.from_url(valkey.url)
    job = Job.fetch(bench.record(occurrence).job_id, connection=raw, serializer=JSONSerializer)
    assert job.func_name == jobs.ATTEMPT_FUNCTION
    assert job.args == ["docs", occurrence.tick_ms, 1]
    assert job.get_status() is JobStatus.QUEUED
    assert job.origin == "default"
    assert job.meta == {"periodic_schedule_id": "docs", "periodic_tick_ms": occurrence.tick_ms}
    assert job.timeout == -1
    assert (job.retries_left, job.success_callback, job.failure_callback) == (None, None, None)
    written = raw.hgetall(job.key)
    assert {key.decode() for key in written} == {name for name, value in job.to_dict().items() if value != ""}
    assert json.loads(written[b"data"]) == json.loads(job.data)


def test_rq_finds_the_queue(valkey: Backend) -> None:
    from rq import Queue

    bench = Bench(valkey, valkey.store())
    bench.add(queue="docs-queue")
    bench.due()
    assert valkey.url is not None
    raw = redis.Redis.from_url(valkey.url)
    assert [queue.name for queue in Queue.all(connection=raw)] == ["docs-queue"]


def test_dispatching_a_tick_again_repeats_nothing_and_says_replayed(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    order = _order(bench, record.next_run_ms or 0)
    _dispatch(bench, order)
    _stand_at(bench, record.next_run_ms or 0)
    _dispatch(bench, order)
    assert [event[1:] for event in bench.events()] == [("enqueued", "replayed"), ("enqueued", "accepted")]
    assert len(bench.queue()) == 1


def test_another_content_under_the_same_tick_is_a_conflict_and_never_a_second_job(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    tick_ms = record.next_run_ms or 0
    _dispatch(bench, _order(bench, tick_ms))
    bench.store.schedules.update("docs", {"kwargs": {"path": "elsewhere"}})
    _stand_at(bench, tick_ms)
    _dispatch(bench, _order(bench, tick_ms, kwargs={"path": "elsewhere"}))
    assert bench.events()[0][1:] == ("deduplicated", "id_conflict")
    assert len(bench.queue()) == 1


def test_a_manual_run_that_sits_on_a_tick_wins_it(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    tick_ms = record.next_run_ms or 0
    run = bench.store.manual.run("docs", "k")
    key = bench.store.keys.occurrence(run.occurrence)
    bench.backend.client.rename(key, bench.store.keys.occurrence(Occurrence("docs", tick_ms)))
    _dispatch(bench, _order(bench, tick_ms))
    assert bench.events()[0][1:] == ("deduplicated", "unique_key")


def test_a_schedule_that_moved_since_the_survey_is_left_alone(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    order = _order(bench, record.next_run_ms or 0)
    bench.store.schedules.update("docs", {"queue": "other"})
    [reply] = _dispatch(bench, order)
    assert reply.word == "changed"
    assert bench.events() == []


def test_a_schedule_never_goes_back_in_time(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    tick_ms = record.next_run_ms or 0
    order = _order(bench, tick_ms)
    back = DispatchOrder(order.seen, order.queue, "1", order.ticks, None, tick_ms - 1, tick_ms)
    stuck = DispatchOrder(order.seen, order.queue, "1", order.ticks, None, tick_ms, tick_ms)
    assert [reply.word for reply in _dispatch(bench, back, stuck)] == ["backwards", "backwards"]
    assert bench.queue() == []


def test_one_call_serves_many_schedules_and_one_reply_answers_each(bench: Bench) -> None:
    for n in range(250):
        bench.add(schedule_id=f"s{n:03}")
    bench.pass_time(110)
    done = bench.sweep()
    assert done.ticks >= 250
    assert len(bench.queue()) >= 250
    assert all(bench.events(f"s{n:03}") for n in range(250))


def test_backfill_enqueues_the_most_recent_oldest_first_and_records_the_rest(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=3, overlap="allow")
    fake_bench.pass_time(10_200)
    fake_bench.sweep()
    ticks = [START + n * 1000 for n in (8, 9, 10)]
    assert [event[0] for event in fake_bench.events()][:3] == ticks[::-1]
    assert fake_bench.queue() == [f"duly-docs-{tick}-1" for tick in ticks]
    dropped = fake_bench.store.trails.events("docs")[0][3]
    assert (dropped.reason, dropped.count) == ("backlog_dropped", 7)
    assert (dropped.first_tick_ms, dropped.last_tick_ms) == (START + 1000, START + 7000)


def test_a_long_backfill_is_done_in_parts_and_loses_nothing(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=250, overlap="allow")
    fake_bench.pass_time(250_000)
    fake_bench.sweep()
    assert fake_bench.queue() == [f"duly-docs-{START + n * 1000}-1" for n in range(1, 251)]


@pytest.mark.parametrize("policy", ["skip", "run_once"])
def test_skip_and_run_once_enqueue_only_the_latest(fake_bench: Bench, policy: str) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy=policy)
    fake_bench.pass_time(10_200)
    fake_bench.sweep()
    assert fake_bench.events() == [
        (START + 10_000, "enqueued", "accepted"),
        (START + 9_000, "skipped", "backlog_dropped"),
    ]


def test_jitter_delays_the_release_and_never_changes_the_tick(fake_bench: Bench) -> None:
    record = fake_bench.add(spec="@every:10000", jitter_window_ms=9_000)
    tick_ms = record.next_run_ms or 0
    release_ms = record.definition.timetable.release_ms(tick_ms)
    assert tick_ms < release_ms <= tick_ms + 9_000
    fake_bench.until(release_ms - 1)
    assert fake_bench.sweep().ticks == 0
    fake_bench.pass_time(1)
    fake_bench.sweep()
    assert fake_bench.events() == [(tick_ms, "enqueued", "accepted")]


def test_a_tick_found_too_late_is_skipped_on_record(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:10000", max_lateness_ms=500)
    fake_bench.pass_time(10_501)
    fake_bench.sweep()
    assert fake_bench.events() == [(START + 10_000, "skipped", "too_late")]
    fake_bench.pass_time(10_000 - 1)
    fake_bench.sweep()
    assert fake_bench.events()[0] == (START + 20_000, "enqueued", "accepted")


def test_overlap_skip_skips_ticks_while_one_runs(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", lease_ttl_ms=60_000)
    lease = fake_bench.running(fake_bench.due())
    fake_bench.pass_time(2_000)
    fake_bench.sweep()
    assert fake_bench.events()[0][1:] == ("skipped", "overlap")
    fake_bench.store.attempts.complete(lease, "")
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    assert fake_bench.events()[0][1:] == ("enqueued", "accepted")


def test_overlap_buffer_one_keeps_only_the_latest_and_delivers_it_when_the_running_one_ends(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", overlap="buffer_one", lease_ttl_ms=60_000)
    lease = fake_bench.running(fake_bench.due())
    for _ in range(3):
        fake_bench.pass_time(1_000)
        fake_bench.sweep()
    waiting = [START + n * 1000 for n in (2, 3, 4)]
    states = [fake_bench.record(Occurrence("docs", tick)).state for tick in waiting]
    assert states == ["COALESCED", "COALESCED", "PENDING"]
    assert len(fake_bench.queue()) == 1
    fake_bench.store.attempts.complete(lease, "")
    fake_bench.sweep()
    assert fake_bench.queue()[-1] == f"duly-docs-{waiting[-1]}-1"


def test_overlap_allow_enqueues_beside_the_running_one(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", overlap="allow", lease_ttl_ms=60_000)
    fake_bench.running(fake_bench.due())
    second = fake_bench.due()
    assert fake_bench.acquire(second).claim == "acquired"


def test_backfilled_ticks_of_one_schedule_run_one_after_another_unless_overlap_is_allowed(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=3)
    fake_bench.pass_time(3_000)
    fake_bench.sweep()
    first, second = (Occurrence("docs", START + n * 1000) for n in (1, 2))
    lease = fake_bench.running(first)
    assert fake_bench.acquire(second).claim == "waiting"
    fake_bench.store.attempts.complete(lease, "")
    fake_bench.sweep()
    assert fake_bench.acquire(second).claim == "acquired"


def test_a_full_queue_gets_no_new_ticks_and_they_stay_due(fake: Backend) -> None:
    bench = Bench(fake, fake.store(queue_limit=1))
    bench.add(schedule_id="one", spec="@every:1000")
    bench.add(schedule_id="two", spec="@every:1000")
    bench.pass_time(1_000)
    bench.sweep()
    assert [event[1:] for event in bench.events("one") + bench.events("two")] == [
        ("enqueued", "accepted"),
        ("failed", "backpressure"),
    ]
    assert bench.store.schedules.get("two").next_run_ms == START + 1_000
    fake.client.delete("rq:queue:default")
    bench.store.schedules.delete("one")
    bench.pass_time(1_000)
    bench.sweep()
    accepted = [tick for tick, outcome, _ in bench.events("two") if outcome == "enqueued"]
    assert accepted == [START + 2_000]
    assert (START + 1_000, "skipped", "backlog_dropped") in bench.events("two")


def test_repeated_failures_of_one_tick_fold_into_one_record_with_a_count(fake: Backend) -> None:
    bench = Bench(fake, fake.store(queue_limit=1))
    fake.client.rpush("rq:queue:default", "x")
    bench.add(spec="@every:3600000")
    bench.until(bench.store.schedules.get("docs").next_run_ms or 0)
    for _ in range(6):
        bench.sweep()
        bench.pass_time(64_000)
    [event] = bench.store.trails.events("docs")[0]
    assert (event.outcome, event.reason, event.count) == ("failed", "backpressure", 6)


def test_a_failing_schedule_waits_longer_each_time_and_starves_nobody(fake: Backend) -> None:
    calls: list[str] = []

    def hook(context: EnqueueContext) -> None:
        calls.append(context.schedule.schedule_id)
        if context.schedule.schedule_id == "bad":
            raise ValueError("boom")

    bench = Bench(fake, fake.store(), hooks=[hook])
    bench.add(schedule_id="bad", spec="@every:100")
    bench.add(schedule_id="good", spec="@every:1000")
    for _ in range(100):
        bench.pass_time(100)
        bench.sweep()
    assert sum(event[1] == "enqueued" for event in bench.events("good")) == 10
    assert 0 < len([c for c in calls if c == "bad"]) < 10
    assert bench.events("bad")[0][1:] == ("failed", "hook_error")


def test_what_is_stored_and_cannot_be_used_fails_on_record_and_the_others_go_on(fake_bench: Bench) -> None:
    fake_bench.add(schedule_id="bad", spec="@every:1000")
    fake_bench.add(schedule_id="good", spec="@every:1000")
    fake_bench.backend.client.hset(fake_bench.store.keys.schedule("bad"), "definition", '{"spec": "@often"}')
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    assert fake_bench.events("bad") == [(START + 1_000, "failed", "invalid_schedule")]
    assert fake_bench.events("good") == [(START + 1_000, "enqueued", "accepted")]


def test_a_hook_may_veto_and_sees_what_became_of_each_tick(fake: Backend) -> None:
    seen: list[tuple[str, int, str | None, str | None]] = []

    def hook(context: EnqueueContext) -> Any:
        seen.append((context.phase, context.tick_ms - START, context.outcome, context.reason))
        return context.tick_ms != START + 2_000

    bench = Bench(fake, fake.store(), hooks=[hook])
    bench.add(spec="@every:1000")
    for _ in range(2):
        bench.pass_time(1_000)
        bench.sweep()
    assert bench.events() == [(START + 2_000, "skipped", "hook_veto"), (START + 1_000, "enqueued", "accepted")]
    assert seen == [
        ("before", 1_000, None, None),
        ("after", 1_000, "enqueued", "accepted"),
        ("before", 2_000, None, None),
        ("after", 2_000, "skipped", "hook_veto"),
    ]


def test_a_hook_cannot_change_what_is_enqueued(fake: Backend) -> None:
    def hook(context: EnqueueContext) -> None:
        with pytest.raises(Exception, match=r"frozen|immutable"):
            context.schedule.task = "evil.task"
        with pytest.raises(AttributeError):
            context.tick_ms = 0  # type: ignore[misc]

    bench = Bench(fake, fake.store(), hooks=[hook])
    bench.add()
    assert bench.record(bench.due()).task == "docs.refresh"


def test_ticks_are_skipped_while_an_occurrence_is_held_and_other_schedules_go_on(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", retry_budget=1)
    fake_bench.add(schedule_id="other", spec="@every:1000")
    lease = fake_bench.running(fake_bench.due())
    fake_bench.store.attempts.fail(lease, "ValueError")
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    assert fake_bench.events()[0][1:] == ("skipped", "quarantined")
    assert fake_bench.events("other")[0][1:] == ("enqueued", "accepted")


def test_a_newer_tick_coalesces_the_queued_one_unless_the_policy_is_backfill(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.add(
        schedule_id="all", spec="@every:1000", missed_run_policy="backfill", backfill_limit=5, overlap="allow"
    )
    for _ in range(2):
        fake_bench.pass_time(1_000)
        fake_bench.sweep()
    assert fake_bench.record(Occurrence("docs", START + 1_000)).state == "COALESCED"
    assert fake_bench.record(Occurrence("all", START + 1_000)).state == "PENDING"


def test_only_the_newest_hundred_events_are_kept(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:100")
    for _ in range(120):
        fake_bench.pass_time(100)
        fake_bench.sweep()
    page, cursor = fake_bench.store.trails.events("docs", 100)
    assert len(page) == 100
    assert cursor is None
    assert page[0].tick_ms == START + 12_000


def test_a_definition_is_read_once_for_each_revision(fake_bench: Bench) -> None:
    asked: list[int] = []
    read = fake_bench.store.schedules.definitions

    def counted(ids: list[str]) -> Any:
        asked.append(len(ids))
        return read(ids)

    fake_bench.store.schedules.definitions = counted  # type: ignore[method-assign]
    fake_bench.add(spec="@every:1000")
    for _ in range(5):
        fake_bench.pass_time(1_000)
        fake_bench.sweep()
    assert sum(asked) == 1
    fake_bench.store.schedules.update("docs", {"task": "new.task"})
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    assert sum(asked) == 2
    assert fake_bench.record(Occurrence("docs", START + 6_000)).task == "new.task"


def test_the_orders_of_two_sweepers_never_make_two_of_one_tick(bench: Bench) -> None:
    """Two holders of the same duty token is worse than anything the fleet allows; even then a tick is one."""
    bench.add()
    other = Sweeper(bench.store)
    for _ in range(5):
        bench.pass_time(60)
        bench.sweeper.sweep_once(bench.token)
        other.sweep_once(bench.token)
    enqueued = [tick for tick, outcome, _ in bench.events() if outcome == "enqueued"]
    assert len(enqueued) == len(set(enqueued)) == len(bench.queue())


def _order(bench: Bench, tick_ms: int, **fields: Any) -> DispatchOrder:
    record = bench.store.schedules.get("docs")
    seen = DueSchedule(
        "docs", str(record.revision), str(record.definition_revision), record.incarnation, "active", tick_ms, None, ""
    )
    wanted = definition(spec=record.definition.spec, **fields)
    return DispatchOrder(
        seen,
        wanted.queue,
        seen.definition_revision,
        [TickOrder(tick_ms, Action.ENQUEUE)],
        None,
        tick_ms + 1,
        tick_ms + 1,
    )


def _dispatch(bench: Bench, *orders: DispatchOrder) -> list[Any]:
    replies = bench.store.sweeping.dispatch(bench.token, orders, 0, 100)
    assert replies is not None
    return replies


def _stand_at(bench: Bench, tick_ms: int) -> None:
    """As if the advance had been lost."""
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "next_run_ms", tick_ms)


def test_a_schedule_that_the_store_cannot_handle_keeps_nobody_from_their_turn(bench: Bench) -> None:
    for schedule_id in ("a", "broken", "c"):
        bench.add(schedule_id=schedule_id)
    bench.backend.client.set(bench.store.keys.events("broken"), "no stream")
    bench.pass_time(110)
    bench.sweep()
    assert bench.events("a")[0][1:] == ("enqueued", "accepted")
    assert bench.events("c")[0][1:] == ("enqueued", "accepted")


def test_an_occurrence_that_the_store_cannot_handle_keeps_nobody_from_their_turn(bench: Bench) -> None:
    bench.add(schedule_id="broken", missed_run_policy="backfill", backfill_limit=9)
    bench.add(schedule_id="good", missed_run_policy="backfill", backfill_limit=9)
    first, second = bench.due("broken"), bench.due("good")
    for occurrence in (first, second):
        bench.running(occurrence)
        bench.expire(occurrence)
    bench.backend.client.delete(bench.store.keys.runs("broken"))
    bench.backend.client.set(bench.store.keys.runs("broken"), "no stream")
    bench.sweeper.sweep_once(bench.token)
    assert bench.record(second).state == "HELD"


def test_the_record_of_what_a_large_backfill_dropped_outlives_its_own_records(fake_bench: Bench) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=300)
    fake_bench.pass_time(50_000)
    fake_bench.sweep()
    dropped = [e for e in fake_bench.store.trails.events("docs", 100)[0] if e.reason == "backlog_dropped"]
    assert [(e.count, e.first_tick_ms, e.last_tick_ms) for e in dropped] == [(200, START + 100, START + 20_000)]
    assert len(fake_bench.queue()) == 300


@pytest.mark.parametrize("edited", [False, True], ids=["backlog", "carried"])
def test_a_backfill_in_parts_is_not_cut_by_its_own_first_tick_running(fake_bench: Bench, edited: bool) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=150)
    fake_bench.pass_time(15_000)
    if edited:
        fake_bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    fake_bench.sweeper.sweep_once(fake_bench.token)
    fake_bench.running(Occurrence("docs", START + 100))
    fake_bench.sweep()
    assert {reason for _, _, reason in fake_bench.events()} == {"accepted"}
    assert fake_bench.backend.client.zcard(fake_bench.store.keys.pending("docs")) == 149


@pytest.mark.parametrize("edited", [False, True], ids=["backlog", "carried"])
def test_what_a_backfill_in_parts_dropped_is_recorded_also_when_it_is_deleted_midway(
    fake_bench: Bench, edited: bool
) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=150)
    fake_bench.pass_time(20_000)
    if edited:
        fake_bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    fake_bench.sweeper.sweep_once(fake_bench.token)
    fake_bench.store.schedules.delete("docs")
    dropped = [e.count for e in fake_bench.store.trails.events("docs", 100)[0] if e.reason == "backlog_dropped"]
    assert sorted(dropped) == [50, 100]


def test_what_carried_ticks_drop_is_recorded_once_however_often_they_fail(fake: Backend) -> None:
    bench = Bench(fake, fake.store(queue_limit=1))
    bench.add()
    bench.pass_time(1_050)
    bench.store.schedules.update("docs", {"spec": "@every:200"})
    fake.client.rpush("rq:queue:default", "x")
    for _ in range(5):
        bench.sweep()
        bench.pass_time(70_000)
    failed, dropped = bench.store.trails.events("docs", 100)[0]
    assert (failed.reason, failed.count) == ("backpressure", 5)
    assert (dropped.reason, dropped.count, dropped.last_tick_ms) == ("backlog_dropped", 9, START + 900)
    fake.client.delete("rq:queue:default")
    bench.sweep()
    assert (START + 1_000, "enqueued", "accepted") in bench.events()
    assert [e.count for e in bench.store.trails.events("docs", 100)[0] if e.last_tick_ms < START + 1_000] == [9]


@pytest.mark.parametrize("limit", [50, 51, 150, 1_000])
def test_an_edit_leaves_a_record_of_what_its_backlog_dropped_however_many_of_it_are_run(
    fake_bench: Bench, limit: int
) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=limit)
    fake_bench.pass_time(120_000)
    fake_bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    fake_bench.take_duty()
    steps, more = [], True
    while more:
        done = fake_bench.sweeper.sweep_once(fake_bench.token)
        assert done is not None
        steps.append(done.ticks)
        more = done.more
    assert (sum(steps), max(steps)) == (limit, TICKS_PER_SCHEDULE)
    dropped = [e for e in fake_bench.store.trails.events("docs", 100)[0] if e.reason == "backlog_dropped"]
    last = START + 120_000 - 100 * limit
    assert [(e.count, e.first_tick_ms, e.last_tick_ms) for e in dropped] == [(1_200 - limit, START + 100, last)]
    assert len(fake_bench.queue()) == limit


def test_carried_ticks_edited_midway_are_all_on_record(fake_bench: Bench) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=150)
    fake_bench.pass_time(20_000)
    fake_bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    fake_bench.sweeper.sweep_once(fake_bench.token)
    fake_bench.running(Occurrence("docs", START + 5_100))
    fake_bench.store.schedules.update("docs", {"spec": "@every:7200000"})
    fake_bench.sweep()
    dropped = [e.count for e in fake_bench.store.trails.events("docs", 100)[0] if e.reason == "backlog_dropped"]
    assert dropped == [50]
    assert fake_bench.backend.client.zcard(fake_bench.store.keys.pending("docs")) == 149


def test_pauses_that_end_together_keep_no_other_schedule_from_its_turn(
    fake_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = fake_bench.store.schedules.now_ms()
    names = [f"p{number:03}" for number in range(MOST_PAUSES + 5)]
    for name in names:
        fake_bench.add(schedule_id=name)
        fake_bench.store.schedules.pause(name, "for a while", now_ms + 1_000)
    fake_bench.add(schedule_id="z")
    fake_bench.pass_time(2_000)
    calls: list[str] = []
    plain = Scripts.call

    def call(scripts: Scripts, name: str, *rest: Any, **arguments: Any) -> Any:
        calls.append(name)
        return plain(scripts, name, *rest, **arguments)

    monkeypatch.setattr(Scripts, "call", call)
    done = fake_bench.sweeper.sweep_once(fake_bench.token)
    assert done is not None
    assert done.more
    assert calls.index("dispatch") < calls.index("resume_schedule")
    assert calls.count("resume_schedule") == MOST_PAUSES
    fake_bench.sweep()
    assert {fake_bench.store.schedules.get(name).state.value for name in names} == {"active"}


def test_a_tick_that_newer_zone_data_took_away_is_passed_over_without_a_busy_loop(fake_bench: Bench) -> None:
    record = fake_bench.add(spec="0 * * * *")
    wrong = (record.next_run_ms or 0) - 1_800_000
    fake_bench.backend.client.hset(fake_bench.store.keys.schedule("docs"), "next_run_ms", wrong)
    fake_bench.backend.client.zadd(fake_bench.store.keys.due, {"docs": wrong})
    fake_bench.until(wrong + 1)
    assert fake_bench.sweep().upcoming_ms == record.next_run_ms
    assert fake_bench.store.schedules.get("docs").next_run_ms == record.next_run_ms


def test_the_backlog_of_a_task_that_no_worker_has_is_bounded(fake: Backend) -> None:
    bench = Bench(fake, fake.store(queue_limit=5))
    bench.add(missed_run_policy="backfill", backfill_limit=10)
    for _ in range(60):
        bench.pass_time(100)
        bench.sweep()
        fake.client.delete("rq:queue:default")
    assert fake.client.zcard(bench.store.keys.pending("docs")) == 5
    assert bench.events()[0][1:] == ("failed", "backpressure")


def test_a_full_cache_of_definitions_makes_no_schedule_invalid(
    fake_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MOST_KNOWN", 2)
    for n in range(5):
        fake_bench.add(schedule_id=f"s{n}")
    fake_bench.pass_time(100)
    fake_bench.sweep()
    assert {fake_bench.events(f"s{n}")[0][1] for n in range(5)} == {"enqueued"}


def test_schedules_whose_pause_cannot_end_starve_nobody(fake_bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "PAGE", 2)
    for schedule_id in ("bad1", "bad2"):
        fake_bench.add(schedule_id=schedule_id, spec="@every:60000")
        fake_bench.store.schedules.pause(schedule_id, "why", START + 1_000)
        fake_bench.backend.client.hset(fake_bench.store.keys.schedule(schedule_id), "definition", "{}")
    fake_bench.add(schedule_id="good", spec="@every:60000")
    fake_bench.pass_time(60_000)
    fake_bench.take_duty()
    for _ in range(5):
        fake_bench.sweeper.sweep_once(fake_bench.token)
    assert fake_bench.events("good")[0][1:] == ("enqueued", "accepted")


def test_a_refused_schedule_does_not_keep_the_sweep_busy(fake_bench: Bench) -> None:
    fake_bench.add(missed_run_policy="backfill", backfill_limit=300)
    fake_bench.pass_time(30_000)
    fake_bench.backend.client.set(fake_bench.store.keys.runs("docs"), "no stream")
    fake_bench.take_duty()
    done = fake_bench.sweeper.sweep_once(fake_bench.token)
    assert done is not None
    assert not done.more


@pytest.mark.parametrize("text", ["MISCONF Errors writing to the AOF file", "OOM command not allowed"])
def test_an_error_of_the_server_as_a_whole_is_one_clear_error(fake_bench: Bench, text: str) -> None:
    watched = WatchedOccurrence(Occurrence("docs", 1), 0, "default")
    with pytest.raises(StoreUnavailable) as error:
        fake_bench.store.sweeping._attended(watched, redis.exceptions.ResponseError(text))
    assert text not in str(error.value)


def test_a_batch_is_told_of_though_the_next_one_cannot_be_sent(fake: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def hook(context: EnqueueContext) -> None:
        told.extend([context.schedule.schedule_id] if context.phase == "after" else [])

    bench = Bench(fake, fake.store(), hooks=[hook])
    for schedule_id in ("a", "b"):
        bench.add(schedule_id=schedule_id)
    bench.pass_time(100)
    bench.sweeper._pace.ticks = 1
    dispatching, sent = SweepStore.dispatching, 0

    def failing(self: SweepStore, *args: Any, **more: Any) -> Any:
        nonlocal sent
        sent += 1
        if sent > 1:
            raise StoreUnavailable("away")
        return dispatching(self, *args, **more)

    monkeypatch.setattr(SweepStore, "dispatching", failing)
    bench.take_duty()
    with pytest.raises(StoreUnavailable):
        bench.sweeper.sweep_once(bench.token)
    assert told == ["a"]


NO_TERMS = [
    None,
    "{}",
    "what nobody wrote",
    *(f"deadbeef {shared}" for shared in ("{", "7", '{"fields": 5}', '{"fields": []}')),
]


@pytest.mark.parametrize("terms", NO_TERMS)
def test_a_schedule_whose_terms_cannot_be_used_stays_due_and_keeps_no_other_from_its_turn(
    bench: Bench, terms: str | None
) -> None:
    bench.doctored = True
    for name in ("broken", "docs"):
        bench.add(schedule_id=name)
    key = bench.store.keys.schedule("broken")
    bench.backend.client.hdel(key, "terms")
    if terms is not None:
        bench.backend.client.hset(key, "terms", terms)
    bench.due()
    bench.due_again()
    assert [each[1:] for each in bench.events("broken")] == [("failed", "invalid_schedule")]
    assert bench.events()[0][1:] == ("enqueued", "accepted")
    with pytest.raises(Refused, match="write it again"):
        bench.store.manual.run("broken", "key")


UNREADABLE_SCHEDULES: list[dict[str, str] | None] = [
    None,
    {"next_run_ms": "soon"},
    {"next_run_ms": "-1"},
    {"next_run_ms": "1e3"},
    {"revision": ""},
    {"state": "paused"},
    {"state": "paused", "paused_until_ms": "1", "revision": "x"},
]


def write_over(bench: Bench, key: str, fields: dict[str, str] | None) -> None:
    """``fields``: what somebody wrote over; None for all of it."""
    bench.doctored = True
    if fields is None:
        bench.backend.client.set(key, "something else")
    else:
        bench.backend.client.hset(key, mapping=fields)


@pytest.mark.parametrize("fields", UNREADABLE_SCHEDULES)
def test_a_schedule_that_cannot_be_read_keeps_no_other_from_its_turn_and_is_named_once_in_a_while(
    bench: Bench, caplog: pytest.LogCaptureFixture, fields: dict[str, str] | None
) -> None:
    for name in ("broken", "docs"):
        bench.add(schedule_id=name)
    write_over(bench, bench.store.keys.schedule("broken"), fields)
    for _ in range(3):
        bench.due_again()  # ends only when a sweep says that there is no more
    assert [each[1:] for each in bench.events()] == [("enqueued", "accepted")] * 3
    assert caplog.messages.count("schedule broken cannot be read") == 1
    assert bench.backend.client.zscore(bench.store.keys.due, "broken") > bench.store.schedules.now_ms() + 60_000


@pytest.mark.parametrize("fields", [None, {"attempt": "many", "job_id": ""}])
def test_an_occurrence_that_cannot_be_read_keeps_no_other_from_its_turn_and_is_named_once_in_a_while(
    bench: Bench, caplog: pytest.LogCaptureFixture, fields: dict[str, str] | None
) -> None:
    for name in ("broken", "docs"):
        bench.add(schedule_id=name)
    broken = bench.due("broken")
    write_over(bench, bench.store.keys.occurrence(broken), fields)
    bench.backend.client.zadd(bench.store.keys.watch, {str(broken): 1})
    before = len(bench.events())
    for _ in range(3):
        bench.due_again()
    assert len(bench.events()) == before + 3
    assert len([each for each in caplog.messages if each.startswith(f"{broken} cannot be attended: ")]) == 1


def test_a_key_of_another_type_is_told_from_other_refusals(valkey: Backend) -> None:
    bench = Bench(valkey, valkey.store())
    bench.add()
    write_over(bench, bench.store.keys.schedule("docs"), None)
    with pytest.raises(StoreRefused, match="a key of this fleet holds something else"):
        bench.store.schedules.get("docs")
    valkey.client.set(bench.store.keys.fence, "no number")
    valkey.client.delete(bench.store.keys.duty)
    with pytest.raises(StoreRefused, match="Redis refused the request"):
        bench.take_duty()


def test_what_is_no_occurrence_at_all_and_a_queue_that_is_none_keep_no_other_from_its_turn(bench: Bench) -> None:
    bench.doctored = True
    bench.add()
    for name in ("queueless", "elsewhere"):
        bench.add(schedule_id=name, queue=name)
        occurrence = bench.due(name)
        bench.backend.client.zadd(bench.store.keys.watch, {str(occurrence): 1})
    bench.backend.client.hdel(bench.store.keys.occurrence(bench.due("queueless")), "queue")
    bench.backend.client.delete("rq:queue:elsewhere")
    bench.backend.client.set("rq:queue:elsewhere", "something else")
    for nothing in ("nonsense", "Docs@1", "docs@1e3", "docs@253402300800000", f"{'d' * 65}@1"):
        bench.backend.client.zadd(bench.store.keys.watch, {nothing: 1})
    bench.due()
    assert bench.events()[0][1:] == ("enqueued", "accepted")
    bench.due_again("elsewhere")
    assert bench.events("elsewhere")[0][1:] == ("failed", "backpressure")
    assert bench.backend.client.zrange(bench.store.keys.watch, 0, -1)[0] != "nonsense"


def test_schedules_that_differ_in_nothing_but_their_work_keep_their_own_keys(bench: Bench) -> None:
    for number in range(3):
        bench.add(schedule_id=f"s{number}", kwargs={"number": number})
    occurrences = [bench.due(f"s{number}") for number in range(3)]
    for occurrence in occurrences:
        digest = bench.store.schedules.get(occurrence.schedule_id).definition.digest
        assert bench.record(occurrence).idempotency_key == f"{occurrence}:{digest}"
    assert len({bench.record(each).idempotency_key.rpartition(":")[2] for each in occurrences}) == 3


@pytest.mark.parametrize(
    ("call_ms", "sizes"),
    [(0.0, [20, 40, 80, 120]), (5 * pace.MOST_MS, [20, 40, *[20] * 10])],
    ids=["a fast one", "a slow one"],
)
def test_a_store_is_asked_for_few_ticks_first_and_then_for_as_many_as_it_is_fast(
    fake_bench: Bench, monkeypatch: pytest.MonkeyPatch, call_ms: float, sizes: list[int]
) -> None:
    class CallsTakeSoLong:
        now_ms = 0.0

        def monotonic_ms(self) -> float:
            self.now_ms += call_ms
            return self.now_ms

    asked: list[int] = []
    dispatching = SweepStore.dispatching

    def noted(self: SweepStore, token: str, orders: Any, *args: Any, **more: Any) -> Any:
        asked.append(len(orders))
        return dispatching(self, token, orders, *args, **more)

    monkeypatch.setattr(SweepStore, "dispatching", noted)
    for number in range(260):
        fake_bench.add(schedule_id=f"s{number}")
    fake_bench.pass_time(100)
    fake_bench.take_duty()
    Sweeper(fake_bench.store, clock=CallsTakeSoLong()).sweep_once(fake_bench.token)
    assert asked == sizes


def test_a_batch_that_the_store_cannot_handle_keeps_no_later_batch_from_its_turn(bench: Bench) -> None:
    bench.doctored = True
    bench.sweeper._pace.ticks = 1
    for name in ("first", "second", "third"):
        bench.add(schedule_id=name, spec="@every:500")
    bench.backend.client.set(bench.store.keys.pending("first"), "no set")
    bench.pass_time(500)
    bench.take_duty()
    done = bench.sweeper.sweep_once(bench.token)
    assert done is not None
    assert done.ticks == 2
    assert [bench.events(name)[0][1:] for name in ("second", "third")] == [("enqueued", "accepted")] * 2


@pytest.mark.parametrize("ends", ["mended", "paused", "edited", "deleted"])
def test_a_schedule_that_stays_due_is_behind_for_as_long_as_its_tick_is_due(fake: Backend, ends: str) -> None:
    def hook(context: EnqueueContext) -> None:
        if failing and context.phase == "before":
            raise ValueError

    failing = True
    bench = Bench(fake, fake.store(), hooks=[hook])
    first = bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=100).next_run_ms or 0
    bench.until(first + 30_000)
    bench.sweep()
    bench.pass_time(5_000)  # it waits for its next try, which is not yet due
    told = bench.store.fleet.snapshot()
    assert (told["failing"], told["lag_ms"]) == (1, bench.store.schedules.now_ms() - first)
    if ends == "paused":
        bench.store.schedules.pause("docs", "until the hook is mended")
    elif ends == "edited":
        bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    elif ends == "deleted":
        bench.store.schedules.delete("docs")
    failing = False
    if ends == "mended":
        bench.pass_time(64_000)
        bench.sweep()
    assert bench.store.fleet.snapshot()["failing"] == 0
    assert bench.backend.client.zcard(bench.store.keys.failing) == 0
    if ends == "mended":
        assert bench.store.fleet.snapshot()["lag_ms"] == 0
