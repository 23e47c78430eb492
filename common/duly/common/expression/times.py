"""The times of day of a cron expression, as an ordered set that is never written out.

An every-second rule has 86,400 of them. They are the product hours x minutes x seconds in lexicographic
order, so the n-th one and the number before any given one are arithmetic and three bisections.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class TimesOfDay:
    """The seconds since local midnight at which a rule fires; the tuples are sorted, distinct, not empty."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    seconds: tuple[int, ...]
    per_hour: int = field(init=False)
    per_day: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_hour", len(self.minutes) * len(self.seconds))
        object.__setattr__(self, "per_day", len(self.hours) * self.per_hour)

    def at(self, index: int) -> int:
        """The time with exactly `index` earlier ones, for `0 <= index < per_day`."""
        hour, rest = divmod(index, self.per_hour)
        minute, second = divmod(rest, len(self.seconds))
        return self.hours[hour] * 3600 + self.minutes[minute] * 60 + self.seconds[second]

    def before(self, time: int) -> int:
        """How many times are earlier than `time`, for `0 <= time <= 86400`."""
        hour, rest = divmod(time, 3600)
        minute, second = divmod(rest, 60)
        count = bisect_left(self.hours, hour)
        if count == len(self.hours) or self.hours[count] != hour:
            return count * self.per_hour
        index = bisect_left(self.minutes, minute)
        count = count * self.per_hour + index * len(self.seconds)
        if index == len(self.minutes) or self.minutes[index] != minute:
            return count
        return count + bisect_left(self.seconds, second)

    @property
    def first(self) -> int:
        return self.at(0)

    @property
    def last(self) -> int:
        return self.at(self.per_day - 1)

    def smallest_gap(self) -> int | None:
        """The smallest distance, in seconds, between two times of one day; None when there is only one."""
        gaps = []
        inner = 0  # distance from the first to the last time inside one step of the level at hand
        for values, unit in ((self.seconds, 1), (self.minutes, 60), (self.hours, 3600)):
            gaps += [(later - earlier) * unit - inner for earlier, later in pairwise(values)]
            inner += (values[-1] - values[0]) * unit
        return min(gaps, default=None)
