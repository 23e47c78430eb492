"""A backlog that is enqueued in parts and interrupted between them: every dropped tick stays on record."""

from __future__ import annotations

from itertools import pairwise

import pytest

from duly.common.records.schedule import ScheduleState
from duly.scheduler import orders
from duly.scheduler.hooks import EnqueueContext, Hook
from tests.conftest import Backend
from tests.store.conftest import Bench

SECOND = 1_000


def accounted(bench: Bench) -> list[tuple[int, int]]:
    """The ranges of ticks that the audit trail speaks of, in order; failures, which are still due, left out."""
    events = bench.store.trails.events("docs", 100)[0]
    return sorted((e.first_tick_ms, e.last_tick_ms) for e in events if e.outcome != "failed")


def assert_every_tick_is_accounted_for_once(bench: Bench, first_ms: int) -> None:
    spans = accounted(bench)
    assert spans[0][0] == first_ms
    assert all(later[0] == earlier[1] + SECOND for earlier, later in pairwise(spans)), spans
    record = bench.store.schedules.get("docs")
    assert spans[-1][1] + SECOND == record.next_run_ms
    dropped = [e for e in bench.store.trails.events("docs", 100)[0] if e.reason == "backlog_dropped"]
    assert dropped
    assert all(e.count == (e.last_tick_ms - e.first_tick_ms) // SECOND + 1 for e in dropped)


def one_part(bench: Bench) -> None:
    """One step of the sweep: a part of the backlog, and not the next."""
    bench.take_duty()
    assert bench.sweeper.sweep_once(bench.token) is not None


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "TICKS_PER_SCHEDULE", 3)


@pytest.mark.usefixtures("parts")
def test_a_backlog_that_grows_between_two_of_its_parts_records_both_drops(fake_bench: Bench) -> None:
    first = fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=6).next_run_ms or 0
    fake_bench.pass_time(10 * SECOND)
    one_part(fake_bench)
    fake_bench.pass_time(20 * SECOND)
    fake_bench.sweep()
    assert_every_tick_is_accounted_for_once(fake_bench, first)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("fails_at", range(1, 7))
def test_a_backlog_whose_parts_fail_and_grow_records_every_drop(fake: Backend, fails_at: int) -> None:
    seen = 0

    def hook(context: EnqueueContext) -> None:
        nonlocal seen
        seen += context.phase == "before"
        if fails_at <= seen < fails_at + 3 and context.phase == "before":
            raise ValueError

    bench = Bench(fake, fake.store(), hooks=[hook])
    first = bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=6).next_run_ms or 0
    for _ in range(4):
        bench.pass_time(15 * SECOND)
        bench.sweep()
    assert_every_tick_is_accounted_for_once(bench, first)


@pytest.mark.parametrize(
    "policy", [{"missed_run_policy": "run_once"}, {"missed_run_policy": "backfill", "backfill_limit": 2}]
)
def test_a_drop_is_recorded_once_however_often_its_tick_fails(fake: Backend, policy: dict[str, object]) -> None:
    failing = True

    def hook(context: EnqueueContext) -> None:
        if failing and context.phase == "before":
            raise ValueError

    bench = Bench(fake, fake.store(), hooks=[hook])
    first = bench.add(spec="@every:1000", **policy).next_run_ms or 0
    for _ in range(5):
        bench.pass_time(7 * SECOND)
        bench.sweep()
    failing = False
    bench.pass_time(70 * SECOND)
    bench.sweep()
    assert_every_tick_is_accounted_for_once(bench, first)


def test_the_end_of_a_pause_never_moves_a_schedule_back_that_was_edited_meanwhile(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    now_ms = fake_bench.store.schedules.now_ms()
    fake_bench.store.schedules.pause("docs", "why", now_ms + 2_000)
    fake_bench.pass_time(60_000)
    edited = fake_bench.store.schedules.update("docs", {"spec": "@every:700"}).record
    fake_bench.sweep()
    record = fake_bench.store.schedules.get("docs")
    assert record.state is ScheduleState.ACTIVE
    assert record.next_run_ms == edited.next_run_ms
    fake_bench.due_again()
    enqueued = [tick_ms for tick_ms, outcome, _ in fake_bench.events() if outcome == "enqueued"]
    assert enqueued == [edited.next_run_ms]


def test_ticks_that_each_should_run_do_not_give_way_after_an_edit_of_the_policy(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=9)
    queued = [fake_bench.due() for _ in range(3)]
    fake_bench.store.schedules.update("docs", {"missed_run_policy": "run_once"})
    latest = [fake_bench.due(), fake_bench.due()]
    assert [fake_bench.record(each).state for each in queued] == ["PENDING"] * 3
    assert [fake_bench.record(each).state for each in latest] == ["COALESCED", "PENDING"]


def failing_on(call: int, failing: list[bool]) -> Hook:
    """A hook that fails from so many questions on, for as long as there is anything in ``failing``."""
    asked = 0

    def hook(context: EnqueueContext) -> None:
        nonlocal asked
        asked += context.phase == "before"
        if context.phase == "before" and failing and asked >= call:
            raise ValueError

    return hook


def interrupted(fake: Backend, failing: list[bool]) -> tuple[Bench, int]:
    """A schedule that was edited with seven ticks due, of which its backfill wants four: the third of them fails."""
    bench = Bench(fake, fake.store(), hooks=[failing_on(3, failing)])
    backfill = {"missed_run_policy": "backfill", "backfill_limit": 4}
    first = bench.add(spec="@every:1000", **backfill).next_run_ms or 0
    bench.pass_time(7 * SECOND)
    bench.store.schedules.update("docs", {"spec": "@every:3600000"})
    bench.sweep()
    return bench, first


def test_a_schedule_deleted_between_carried_ticks_drops_only_those_that_were_left(fake: Backend) -> None:
    bench, first = interrupted(fake, [True])
    bench.store.schedules.delete("docs")
    ticks = range(first, first + 7 * SECOND, SECOND)
    assert accounted(bench) == [(ticks[0], ticks[2]), (ticks[3],) * 2, (ticks[4],) * 2, (ticks[5], ticks[6])]


def test_carried_ticks_go_on_where_one_has_failed(fake: Backend) -> None:
    failing = [True]
    bench, first = interrupted(fake, failing)
    failing.clear()
    bench.pass_time(70 * SECOND)
    bench.sweep()
    ticks = range(first, first + 7 * SECOND, SECOND)
    assert accounted(bench) == [(ticks[0], ticks[2]), *((tick, tick) for tick in ticks[3:])]
    reasons = [e.reason for e in bench.store.trails.events("docs", 100)[0]]
    assert "replayed" not in reasons
