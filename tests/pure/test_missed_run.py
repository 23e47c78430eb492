"""The missed-run policy, against a walk over all ticks."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from duly.common.records.definition import ScheduleDefinition, define
from duly.scheduler.missed_run import MissedRuns, Plan
from duly.scheduler.missed_run import plan as plan_of
from duly.scheduler.missed_run import plan_carried as plan_carried_of

PERIOD = 1_000


def schedule(policy: str, limit: int | None = None, **fields: Any) -> ScheduleDefinition:
    return define(
        {
            "schedule_id": "docs",
            "spec": f"@every:{PERIOD}",
            "task": "t",
            "missed_run_policy": policy,
            "review_owner": "ann",
            **({"backfill_limit": limit} if limit else {}),
            **fields,
        }
    )


def plan(definition: ScheduleDefinition, *args: int) -> Plan:
    return plan_of(MissedRuns.of(definition), definition.timetable, *args)


def plan_carried(definition: ScheduleDefinition, *args: int) -> Plan:
    return plan_carried_of(MissedRuns.of(definition), definition.timetable, *args)


schedules = st.one_of(
    st.sampled_from(["skip", "run_once"]).map(schedule),
    st.integers(1, 12).map(lambda limit: schedule("backfill", limit)),
    st.integers(1, PERIOD - 1).map(lambda window: schedule("backfill", 4, jitter_window_ms=window)),
    st.integers(1, 5_000).map(lambda late: schedule("backfill", 8, max_lateness_ms=late)),
)
firsts = st.integers(1, 50).map(lambda n: n * PERIOD)


def kept(plan_: Plan) -> list[int]:
    return [order.tick_ms for order in plan_.ticks]


@settings(deadline=None, max_examples=400)
@given(schedules, firsts, st.integers(0, 40_000), st.integers(1, 20))
def test_every_due_tick_is_kept_dropped_or_left_for_the_next_sweep(
    definition: ScheduleDefinition, first: int, late: int, most: int
) -> None:
    now = first + late
    due = [t for t in range(first, now + 1, PERIOD) if definition.timetable.release_ms(t) <= now]
    plan_ = plan(definition, first, now, most)
    wanted = due[-(definition.backfill_limit or 1) :]
    assert kept(plan_) == wanted[:most]
    dropped = due[: len(due) - len(wanted)]
    if dropped:
        assert plan_.dropped is not None
        assert (plan_.dropped.count, plan_.dropped.first_ms, plan_.dropped.last_ms) == (
            len(dropped),
            dropped[0],
            dropped[-1],
        )
    else:
        assert plan_.dropped is None
    following = wanted[most] if len(wanted) > most else first + len(due) * PERIOD
    assert plan_.next_ms == following
    assert plan_.due_ms == definition.timetable.release_ms(following)


@settings(deadline=None, max_examples=200)
@given(schedules, firsts, st.integers(0, 40_000))
def test_exactly_the_ticks_older_than_the_limit_are_too_late(
    definition: ScheduleDefinition, first: int, late: int
) -> None:
    now = first + late
    limit = definition.max_lateness_ms
    for order in plan(definition, first, now, 100).ticks:
        too_late = limit is not None and now - order.tick_ms > limit
        assert (order.action, order.reason) == (("skip", "too_late") if too_late else ("enqueue", ""))


@settings(deadline=None, max_examples=200)
@given(schedules, firsts, st.integers(0, 20_000), st.integers(0, 20_000), st.integers(1, 9))
def test_carried_ticks_are_settled_up_to_the_edit_whatever_their_jitter(
    definition: ScheduleDefinition, first: int, until: int, later: int, most: int
) -> None:
    due = list(range(first, first + until + 1, PERIOD))
    settled, dropped, at = [], 0, first
    while True:
        plan_ = plan_carried(definition, at, first + until, first + until + later, most)
        assert len(plan_.ticks) <= most
        settled += kept(plan_)
        dropped += plan_.dropped.count if plan_.dropped else 0
        if plan_.until_ms is None or plan_.next_ms is None:
            break
        at = plan_.next_ms
    assert settled == due[-(definition.backfill_limit or 1) :]
    assert dropped + len(settled) == len(due)


def test_the_end_of_a_schedule_leaves_it_without_a_next_tick() -> None:
    definition = schedule("run_once", end_at="1970-01-01T00:00:03Z")
    assert plan(definition, 1_000, 10_000, 10) == Plan(
        plan(definition, 3_000, 3_000, 10).ticks, definition.timetable.range_between(1_000, 2_000), None, None
    )
