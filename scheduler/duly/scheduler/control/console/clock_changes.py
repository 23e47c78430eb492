"""The days on which the wall clock of a timetable is changed, and what that does to its ticks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from duly.common.explain.ticks import Tick, next_ticks
from duly.common.expression import ExpressionError, parse
from duly.common.instant import to_datetime
from duly.common.timetable import Timetable

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LOOK_AHEAD_DAYS = 400
MOST_CHANGES = 2
AROUND = 6


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of the zone's clocks: what it does, what it does to the timetable, and the ticks around it."""

    at_ms: int
    what: str
    effect: str
    ticks: Sequence[Tick]


def clock_changes(timetable: Timetable, now_ms: int) -> list[ClockChange]:
    """The next changes of the zone's clocks, at most two, each with the ticks around it."""
    if timetable.expression.timezone == "UTC" or timetable.expression.schedule_type == "interval":
        return []
    zone = ZoneInfo(timetable.expression.timezone)
    return [_change(timetable, zone, at_ms) for at_ms in islice(_changes(zone, now_ms), MOST_CHANGES)]


def _changes(zone: ZoneInfo, now_ms: int) -> Iterator[int]:
    """The instants at which the zone's offset changes, to the second."""
    for day in range(LOOK_AHEAD_DAYS):
        low, high = now_ms + day * DAY_MS, now_ms + (day + 1) * DAY_MS
        if _offset(zone, low) == _offset(zone, high):
            continue
        low, high = low // 1000, high // 1000
        before = _offset(zone, low * 1000)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(zone, middle * 1000) == before else (low, middle)
        yield high * 1000


def _offset(zone: ZoneInfo, ms: int) -> timedelta:
    return to_datetime(ms).astimezone(zone).utcoffset() or timedelta()


def _change(timetable: Timetable, zone: ZoneInfo, at_ms: int) -> ClockChange:
    before, after = _offset(zone, at_ms - 1000), _offset(zone, at_ms)
    shown = to_datetime(at_ms).replace(tzinfo=None) + before
    then = to_datetime(at_ms).replace(tzinfo=None) + after
    what = f"{shown:%a %Y-%m-%d}: clocks go {'forward' if after > before else 'back'}, {shown:%H:%M} to {then:%H:%M}"
    around = next_ticks(timetable, at_ms - 3 * HOUR_MS - 1, AROUND)
    ticks = [tick for tick in around if tick.ms <= at_ms + 24 * HOUR_MS]
    return ClockChange(at_ms, what, _effect(timetable, min(shown, then), max(shown, then), after > before), ticks)


def _effect(timetable: Timetable, first: datetime, end: datetime, forward: bool) -> str:
    """What the change does to ticks whose local time falls into the hours that are missing or come twice."""
    touched = _local_ticks(timetable, first, end)
    if not touched:
        return "no tick of this schedule falls into the hours that change"
    named = ", ".join(touched[:3]) + (", ..." if len(touched) > 3 else "")
    if forward:
        return f"{named} does not exist on that day and is left out"
    return f"{named} comes twice on that day and runs at the first of the two"


def _local_ticks(timetable: Timetable, first: datetime, end: datetime) -> list[str]:
    """The times of the wall clock at which the rule would fire between two of its readings, clocks aside."""
    spec = timetable.expression.spec
    bare = spec.partition(" ")[2] if spec.startswith("CRON_TZ=") else spec
    try:
        rule = parse(bare)
    except ExpressionError:
        return []
    first_ms, end_ms = (int(each.replace(tzinfo=UTC).timestamp()) * 1000 for each in (first, end))
    found, at_ms = list[str](), rule.next_after(first_ms - 1)
    while at_ms is not None and at_ms < end_ms and len(found) < AROUND:
        found.append(f"{to_datetime(at_ms):%H:%M:%S}".removesuffix(":00"))
        at_ms = rule.next_after(at_ms)
    return found
