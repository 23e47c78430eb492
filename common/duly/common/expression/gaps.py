"""How close together the ticks of a cron expression can come.

Inside a zone's span ticks keep the distances of the wall clock. Only a forward jump brings the ticks around
it closer together, by the length of the jump; when clocks are set back, the ticks around that move apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from .days import Days
from .times import TimesOfDay
from .zone import DAY_S


def smallest_gap_s(times: TimesOfDay, days: Days, jumps: frozenset[tuple[int, int]]) -> int:
    """A positive lower bound, in seconds, on the distance between ticks in a zone with these jumps.

    A jump is weighed as if it happened on each day that matches. When no two days in a row match, a night
    between ticks is taken to lose a whole day to jumps: still a useful bound, and safe for any zone.
    """
    distance = days.smallest_distance()
    overnight = distance * DAY_S - (times.last - times.first)
    if distance > 1 and jumps:
        overnight -= DAY_S
    around = [_around(times, skipped, length) for skipped, length in jumps]
    gaps = [gap.seconds for gap in around if distance == 1 or gap.same_day]
    return min(overnight, times.smallest_gap() or overnight, *gaps)


@dataclass(frozen=True, slots=True)
class _Gap:
    seconds: int
    same_day: bool


def _around(times: TimesOfDay, skipped: int, length: int) -> _Gap:
    """The distance between the last tick before a jump and the first after it, when all days match."""
    before = _before(times, skipped) - 1
    after = _before(times, skipped + length)
    seconds = _at(times, after) - _at(times, before) - length
    return _Gap(seconds, same_day=before // times.per_day == after // times.per_day)


def _before(times: TimesOfDay, second: int) -> int:
    """How many times are earlier than a second that may lie on a later day, counted from day 0."""
    day, time = divmod(second, DAY_S)
    return day * times.per_day + times.before(time)


def _at(times: TimesOfDay, index: int) -> int:
    """The time of that number, counted from day 0, on whatever day it falls."""
    day, within = divmod(index, times.per_day)
    return day * DAY_S + times.at(within)
