"""The days on which the wall clock of a timetable is changed, and what that does to its ticks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from duly.common.expression import ExpressionError, parse
from duly.common.instant import to_datetime
from duly.common.timetable import Timetable

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
_MOST_DAYS = 7_400
_TOUCHED = 6
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """A change of the zone's clocks at an instant in epoch milliseconds.

    ``what``: what the clocks do; ``effect``: what becomes of the ticks in the hours that are missing or come twice;
    ``touches``: whether there are any.
    """

    at_ms: int
    what: str
    effect: str
    touches: bool


def turns(timetable: Timetable, after_ms: int, until_ms: int) -> Iterator[Turn]:
    """The changes of the zone's clocks between two instants, in order, for twenty years at most.

    None for an interval or in UTC.
    """
    if timetable.expression.timezone == "UTC" or timetable.expression.schedule_type == "interval":
        return
    zone = ZoneInfo(timetable.expression.timezone)
    for at_ms in _changes(zone, after_ms, until_ms):
        yield _turn(timetable, zone, at_ms)


def _changes(zone: ZoneInfo, after_ms: int, until_ms: int) -> Iterator[int]:
    """The instants at which the zone's offset changes, to the second."""
    end_ms = min(until_ms, after_ms + _MOST_DAYS * DAY_MS)
    for start_ms in range(after_ms, end_ms, DAY_MS):
        low, high = start_ms, min(start_ms + DAY_MS, end_ms)
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


def _turn(timetable: Timetable, zone: ZoneInfo, at_ms: int) -> Turn:
    before, after = _offset(zone, at_ms - 1000), _offset(zone, at_ms)
    shown = to_datetime(at_ms).replace(tzinfo=None) + before
    then = to_datetime(at_ms).replace(tzinfo=None) + after
    what = f"{shown:%a %Y-%m-%d}: clocks go {'forward' if after > before else 'back'}, {shown:%H:%M} to {then:%H:%M}"
    touched = _local_ticks(timetable, min(shown, then), max(shown, then))
    return Turn(at_ms, what, _effect(touched, forward=after > before), bool(touched))


def _effect(touched: list[str], *, forward: bool) -> str:
    """What the change does to ticks whose local time falls into the hours that are missing or come twice."""
    if not touched:
        return "no tick of this schedule falls into the hours that change"
    named = ", ".join(touched[:_NAMED]) + (", ..." if len(touched) > _NAMED else "")
    one = len(touched) == 1
    if forward:
        return f"{named} {'does' if one else 'do'} not exist on that day and {'is' if one else 'are'} left out"
    return (
        f"{named} {'comes' if one else 'come'} twice on that day and {'runs' if one else 'run'} at the first of the two"
    )


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
    while at_ms is not None and at_ms < end_ms and len(found) < _TOUCHED:
        found.append(f"{to_datetime(at_ms):%H:%M:%S}".removesuffix(":00"))
        at_ms = rule.next_after(at_ms)
    return found
