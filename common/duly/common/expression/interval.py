"""`@every:<ms>`: ticks at every multiple of a period since the Unix epoch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Final

from .base import HORIZON_MS, Expression, ScheduleType
from .errors import ExpressionError
from .example import Example

PREFIX: Final = "@every:"
MIN_PERIOD_MS: Final = 100
MAX_PERIOD_MS: Final = 366 * 86_400_000
_FIELD: Final = "spec.interval"
_PLAIN_INTEGER: Final = re.compile(r"[1-9][0-9]{0,10}")


def examples() -> tuple[Example, ...]:
    """Texts that `parse_period` accepts and refuses."""
    return (
        Example("@every:1000", "every whole second"),
        Example("@every:100", "the shortest period"),
        Example("@every:31622400000", "the longest period, 366 days"),
        Example("@every:99", "too short", _FIELD),
        Example("@every:31622400001", "too long", _FIELD),
        Example("@every:+1000", "a sign", _FIELD),
        Example("@every:01000", "a leading zero", _FIELD),
        Example("@every:1_000", "Python's digit grouping", _FIELD),
        Example("@every:5m", "a unit", _FIELD),
        Example("@every 1000", "no colon", _FIELD),
        Example("@every:", "no period", _FIELD),
    )


def parse_period(text: str) -> int:
    """The period in milliseconds of a text like `@every:60000`; raises `ExpressionError`."""
    digits = text.removeprefix(PREFIX)
    if text.startswith(PREFIX) and _PLAIN_INTEGER.fullmatch(digits):
        period = int(digits)
        if MIN_PERIOD_MS <= period <= MAX_PERIOD_MS:
            return period
    raise ExpressionError(
        _FIELD,
        f"write @every:<ms>, in plain digits a whole number of milliseconds from {MIN_PERIOD_MS} "
        f"to {MAX_PERIOD_MS} (366 days)",
    )


@dataclass(frozen=True, slots=True)
class IntervalExpression(Expression):
    """Ticks at the multiples of `period_ms`, so that all machines agree on them without a starting point."""

    schedule_type: ClassVar[ScheduleType] = "interval"

    period_ms: int = field(compare=False, repr=False)

    def smallest_gap_ms(self) -> int:
        return self.period_ms

    def next_after(self, after_ms: int) -> int | None:
        tick = (max(after_ms, -1) // self.period_ms + 1) * self.period_ms
        return tick if tick < HORIZON_MS else None

    def latest_at(self, now_ms: int, not_before_ms: int) -> int | None:
        ticks = self._ticks(not_before_ms, now_ms)
        return ticks[-1] if ticks else None

    def most_recent(self, now_ms: int, limit: int, not_before_ms: int) -> list[int]:
        ticks = self._ticks(not_before_ms, now_ms)
        return list(ticks[max(len(ticks) - max(limit, 0), 0) :])

    def count_between(self, first_ms: int, last_ms: int) -> int:
        return len(self._ticks(first_ms, last_ms))

    def is_tick(self, ms: int) -> bool:
        return 0 <= ms < HORIZON_MS and ms % self.period_ms == 0

    def _ticks(self, first_ms: int, last_ms: int) -> range:
        """The ticks in `[first_ms, last_ms]` as a range, which is arithmetic and holds no tick in memory."""
        first = -(-max(first_ms, 0) // self.period_ms) * self.period_ms
        return range(first, min(last_ms, HORIZON_MS - 1) + 1, self.period_ms)
