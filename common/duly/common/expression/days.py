"""The days of a cron expression.

A day is an integer: days since 1970-01-01. Which days of a year match depends only on whether the year is a
leap year and on the weekday of its 1 January, so there are fourteen kinds of year. Each is worked out once,
when first met, as a sorted tuple; stepping is then a bisection, and counting is one addition a year.
"""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Final

_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
_EPOCH_WEEKDAY: Final = 4  # a Thursday, Sunday being 0 as in cron
_FIRST_YEAR: Final = 1969  # west of Greenwich the epoch falls on a local day of 1969
_LAST_YEAR: Final = 9999
_MONTH_LENGTHS: Final = {leap: (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31) for leap in (False, True)}


@dataclass(frozen=True, slots=True)
class Days:
    """The local days on which a rule fires: in one of `months`, on a listed day of the month or weekday.

    Unlike in the text of an expression, either set may be empty, and a match of either is enough. Weekdays
    run from 0, Sunday, to 6.
    """

    months: frozenset[int]
    days_of_month: frozenset[int]
    weekdays: frozenset[int]
    every: bool = field(init=False)
    _kinds: dict[tuple[bool, int], tuple[int, ...]] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        all_days = len(self.days_of_month) == 31 or len(self.weekdays) == 7
        object.__setattr__(self, "every", all_days and len(self.months) == 12)

    def ever(self) -> bool:
        """Whether any day matches: with no weekday to help, 30 February never comes."""
        longest = max(_MONTH_LENGTHS[True][month - 1] for month in self.months)
        return bool(self.weekdays) or min(self.days_of_month, default=32) <= longest

    def matches(self, day: int) -> bool:
        return self.every or self.at_or_after(day) == day

    def at_or_after(self, day: int) -> int | None:
        """The first matching day from `day` on; None past the year 9999."""
        if self.every:
            return day
        for year in range(_year_of(day), _LAST_YEAR + 1):
            new_year, offsets = self._year(year)
            index = bisect_left(offsets, day - new_year)
            if index < len(offsets):
                return new_year + offsets[index]
        return None

    def at_or_before(self, day: int) -> int | None:
        """The last matching day up to `day`; None before 1969."""
        if self.every:
            return day
        for year in range(_year_of(day), _FIRST_YEAR - 1, -1):
            new_year, offsets = self._year(year)
            index = bisect_left(offsets, day - new_year + 1)
            if index:
                return new_year + offsets[index - 1]
        return None

    def count(self, first: int, end: int) -> int:
        """How many days match in `[first, end)`, given `first <= end`."""
        if self.every:
            return end - first
        total = 0
        for year in range(_year_of(first), _year_of(end) + 1):
            new_year, offsets = self._year(year)
            total += bisect_left(offsets, end - new_year) - bisect_left(offsets, first - new_year)
        return total

    def smallest_distance(self) -> int:
        """The fewest days between two matching days.

        Looks at the 28 years after which weekdays and leap years repeat, and at the year that follows them. A
        century without its leap day brings no pair of years that these have not.
        """
        if self.every:
            return 1
        matching = [new_year + offset for new_year, offsets in map(self._year, range(2001, 2030)) for offset in offsets]
        return min(later - earlier for earlier, later in pairwise(matching))

    def _year(self, year: int) -> tuple[int, tuple[int, ...]]:
        """The day of 1 January, and the sorted offsets from it of the days that match."""
        new_year, kind = _new_year(year)
        offsets = self._kinds.get(kind)
        if offsets is None:
            offsets = self._kinds[kind] = self._offsets(*kind)
        return new_year, offsets

    def _offsets(self, leap: bool, weekday: int) -> tuple[int, ...]:
        """The matching days of a kind of year, counted from its 1 January, which is a `weekday`."""
        offsets: list[int] = []
        start = 0
        for month, length in enumerate(_MONTH_LENGTHS[leap], start=1):
            if month in self.months:
                offsets += [
                    start + index
                    for index in range(length)
                    if index + 1 in self.days_of_month or (weekday + start + index) % 7 in self.weekdays
                ]
            start += length
        return tuple(offsets)


@lru_cache(maxsize=1024)
def _new_year(year: int) -> tuple[int, tuple[bool, int]]:
    """The day of 1 January, and the kind of the year: whether it is a leap year and its first weekday."""
    day = date(year, 1, 1).toordinal() - _EPOCH_ORDINAL
    return day, (isleap(year), (day + _EPOCH_WEEKDAY) % 7)


def _year_of(day: int) -> int:
    return date.fromordinal(day + _EPOCH_ORDINAL).year
