"""Cron expressions: the wall clock of one zone, stepped by arithmetic.

Local time is handled as an integer of seconds, as if it were UTC. `LocalTicks` orders the local times a
rule names; `CronExpression` decides, span by span of the zone, which of them happen and when. In a span
only local times from `Span.fresh` up to its end count: so a time that a forward jump leaves out is in no
span, and a time that comes round again is not fresh the second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

from .base import HORIZON_MS, HORIZON_S, SECOND_MS, Expression, ScheduleType
from .days import Days
from .gaps import smallest_gap_s
from .times import TimesOfDay
from .zone import DAY_S, Zone

_BEFORE_ALL: Final = -2 * DAY_S
_AFTER_ALL: Final = HORIZON_S + 2 * DAY_S


@dataclass(frozen=True, slots=True)
class LocalTicks:
    """The local times a rule names, whether or not the clocks of some zone ever show them."""

    times: TimesOfDay
    days: Days

    def at_or_after(self, local: int) -> int:
        """The first named time from `local` on; `_AFTER_ALL` past the year 9999."""
        day, time = divmod(local, DAY_S)
        found = self.days.at_or_after(day)
        if found == day:
            index = self.times.before(time)
            if index < self.times.per_day:
                return day * DAY_S + self.times.at(index)
            found = self.days.at_or_after(day + 1)
        return _AFTER_ALL if found is None else found * DAY_S + self.times.at(0)

    def at_or_before(self, local: int) -> int:
        """The last named time up to `local`; `_BEFORE_ALL` before 1969."""
        day, time = divmod(local, DAY_S)
        found = self.days.at_or_before(day)
        if found == day:
            index = self.times.before(time + 1)
            if index:
                return day * DAY_S + self.times.at(index - 1)
            found = self.days.at_or_before(day - 1)
        return _BEFORE_ALL if found is None else found * DAY_S + self.times.last

    def count(self, first: int, end: int) -> int:
        """How many named times lie in `[first, end)`."""
        if first >= end:
            return 0
        first_day, end_day = first // DAY_S, end // DAY_S
        whole_days = self.days.count(first_day, end_day) * self.times.per_day
        return whole_days + self._earlier_that_day(end) - self._earlier_that_day(first)

    def _earlier_that_day(self, local: int) -> int:
        day, time = divmod(local, DAY_S)
        return self.times.before(time) if self.days.matches(day) else 0


@dataclass(frozen=True, slots=True)
class CronExpression(Expression):
    """Ticks at the first occurrence of each local time that `ticks` names and `zone` has."""

    schedule_type: ClassVar[ScheduleType] = "calendar"

    ticks: LocalTicks = field(compare=False, repr=False)
    zone: Zone = field(compare=False, repr=False)

    def next_after(self, after_ms: int) -> int | None:
        second = max(after_ms // SECOND_MS, -1) + 1
        while second < HORIZON_S:
            span = self.zone.span_at(second)
            candidate = self.ticks.at_or_after(max(second + span.offset, span.fresh))
            tick = candidate - span.offset
            if tick < span.end:
                return tick * SECOND_MS
            # No offset reaches a whole day, so the candidate cannot come up sooner than this.
            second = max(span.end, candidate - DAY_S)
        return None

    def latest_at(self, now_ms: int, not_before_ms: int) -> int | None:
        second = min(now_ms, HORIZON_MS - 1) // SECOND_MS
        lowest = -(-max(not_before_ms, 0) // SECOND_MS)
        while second >= lowest:
            span = self.zone.span_at(second)
            # While the clocks repeat themselves, the latest tick may be any that was due before they were
            # set back.
            candidate = self.ticks.at_or_before(max(second + span.offset, span.fresh - 1))
            if candidate >= span.fresh:
                tick = candidate - span.offset
                return tick * SECOND_MS if tick >= lowest else None
            second = min(span.start - 1, candidate + DAY_S)
        return None

    def most_recent(self, now_ms: int, limit: int, not_before_ms: int) -> list[int]:
        ticks: list[int] = []
        while len(ticks) < limit:
            tick = self.latest_at(now_ms, not_before_ms)
            if tick is None:
                break
            ticks.append(tick)
            now_ms = tick - 1
        return ticks[::-1]

    def count_between(self, first_ms: int, last_ms: int) -> int:
        second = -(-max(first_ms, 0) // SECOND_MS)
        end = min(last_ms // SECOND_MS + 1, HORIZON_S)
        total = 0
        while second < end:
            span = self.zone.span_at(second)
            first = max(second + span.offset, span.fresh)
            total += self.ticks.count(first, min(span.end, end) + span.offset)
            second = span.end
        return total

    def is_tick(self, ms: int) -> bool:
        return self.latest_at(ms, ms) == ms

    def smallest_gap_ms(self) -> int:
        return _smallest_gap_ms(self)


@lru_cache(maxsize=1024)
def _smallest_gap_ms(expression: CronExpression) -> int:
    ticks = expression.ticks
    return smallest_gap_s(ticks.times, ticks.days, expression.zone.forward_jumps()) * SECOND_MS
