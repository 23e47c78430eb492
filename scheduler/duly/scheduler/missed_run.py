"""The missed-run policy: which due ticks become jobs, and which are dropped on record. Pure.

`skip` and `run_once` enqueue only the latest due tick; `backfill` the N most recent, oldest first. Since the
schedule keeps its next run durably, one due tick and a backlog are the same case.
"""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.records.definition import MissedRunPolicy, ScheduleDefinition
from duly.common.store.dispatch import Action, TickOrder
from duly.common.timetable import TickRange, Timetable


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done with the due ticks of one schedule. Instants in epoch milliseconds.

    ``next_ms``: the tick the schedule stands at afterwards, ``due_ms``: when that one may be released; both None
    when the schedule has no more ticks. ``until_ms``: the last tick of a backlog of which a part is left for later.
    """

    ticks: list[TickOrder]
    dropped: TickRange | None
    next_ms: int | None
    due_ms: int | None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class MissedRuns:
    """What a definition says of ticks that are not enqueued in time."""

    policy: MissedRunPolicy
    backfill_limit: int | None
    max_lateness_ms: int | None

    @classmethod
    def of(cls, definition: ScheduleDefinition) -> MissedRuns:
        """What this definition says."""
        return cls(definition.policy, definition.backfill_limit, definition.max_lateness_ms)


def plan(missed: MissedRuns, timetable: Timetable, next_run_ms: int, now_ms: int, most: int) -> Plan:
    """Plan the ticks from ``next_run_ms`` that may be released at ``now_ms``.

    At most ``most`` ticks are planned; the rest stay due.
    """
    latest_ms = timetable.latest_released(now_ms, next_run_ms)
    if latest_ms is None:
        # Newer zone data may have taken the tick away: then it stands at the next one that there is.
        next_ms = timetable.next_after(next_run_ms - 1)
        return Plan([], None, next_ms, None if next_ms is None else timetable.release_ms(next_ms))
    return _settle(missed, timetable, next_run_ms, latest_ms, now_ms, most)


def plan_carried(
    missed: MissedRuns, timetable: Timetable, next_run_ms: int, until_ms: int, now_ms: int, most: int
) -> Plan:
    """Plan the ticks up to ``until_ms`` of a definition that was edited since: at most ``most``.

    Where a part is left for later the plan has ``until_ms``, and stands at the first tick of it; what it says of the
    ticks after ``until_ms`` means nothing, since they are another definition's.
    """
    passed = timetable.range_between(next_run_ms, until_ms)
    if passed is None:
        return Plan([], None, None, None)
    return _settle(missed, timetable, next_run_ms, passed.last_ms, now_ms, most)


def last_release_ms(timetable: Timetable, next_run_ms: int, until_ms: int) -> int | None:
    """When the last carried tick may be released; None when there is none."""
    passed = timetable.range_between(next_run_ms, until_ms)
    return None if passed is None else timetable.release_ms(passed.last_ms)


def _settle(missed: MissedRuns, timetable: Timetable, first_ms: int, latest_ms: int, now_ms: int, most: int) -> Plan:
    kept = [latest_ms]
    if missed.policy is MissedRunPolicy.BACKFILL:
        kept = timetable.most_recent(latest_ms, missed.backfill_limit or 1, first_ms)
    dropped = timetable.range_between(first_ms, kept[0] - 1) if kept[0] > first_ms else None
    later = kept[most:]
    next_ms = later[0] if later else timetable.next_after(latest_ms)
    due_ms = None if next_ms is None else timetable.release_ms(next_ms)
    ticks = [_order(missed, timetable, tick_ms, now_ms) for tick_ms in kept[:most]]
    return Plan(ticks, dropped, next_ms, due_ms, latest_ms if later else None)


def _order(missed: MissedRuns, timetable: Timetable, tick_ms: int, now_ms: int) -> TickOrder:
    if missed.max_lateness_ms is not None and now_ms - tick_ms > missed.max_lateness_ms:
        return TickOrder(tick_ms, Action.SKIP, "too_late")
    return TickOrder(tick_ms, jitter_ms=timetable.release_ms(tick_ms) - tick_ms)
