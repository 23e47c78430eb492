"""Cron rules in zones with odd clocks, against a brute force that shares nothing with the implementation.

The brute force walks UTC minute by minute, reads the wall clock from `zoneinfo`, keeps the minutes at which
the clock shows a time it has not shown before, and matches those against the fields with a parser of its own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo

import pytest

from duly.common.expression import Expression, parse

ZONES_AND_YEARS = [
    ("Australia/Lord_Howe", (1985, 2026)),
    ("Pacific/Chatham", (2026, 2040)),
    ("Africa/Casablanca", (2018, 2026)),
    ("Pacific/Apia", (2011, 2021)),
    ("Europe/Dublin", (1971, 2026)),
    ("America/New_York", (1974, 2026)),
    ("America/St_Johns", (1988, 2011)),
    ("Asia/Kathmandu", (1985, 1986)),
    ("Antarctica/Troll", (2026,)),
    ("Antarctica/Casey", (2010, 2020)),
    ("Asia/Gaza", (2011, 2041)),
    ("America/Sao_Paulo", (2000, 2018)),
    ("America/Noronha", (2000,)),
    ("Africa/Cairo", (2010, 2026)),
    ("Asia/Tehran", (1977, 2021)),
    ("Asia/Pyongyang", (2015, 2018)),
    ("Pacific/Kiritimati", (1994,)),
    ("Pacific/Kwajalein", (1993,)),
    ("America/Scoresbysund", (1981, 2024)),
    ("America/Caracas", (2007, 2016)),
    ("Europe/London", (1999, 9998)),
]

# Chosen to fall on, around and across changes of the clock; sparse, dense, daily and bound to dates.
FIELDS = [
    "* * * * *",
    "*/15 * * * *",
    "*/7 0-3 * * *",
    "30 2 * * *",
    "30 1 * * *",
    "0 0 * * *",
    "59 23 * * *",
    "0,30 0,1,2,3,23 * * *",
    "10 */5 * * *",
    "5-10,45 1-2 * * SUN",
    "0 3 */2 * 1-5",
    "15 2 30,31 * ?",
]


def brute_force(fields: str, window: list[tuple[int, datetime]]) -> list[int]:
    """The ticks in a window of (UTC second, local time first shown then)."""
    minutes, hours, days, months, weekdays = fields.split()

    def matches(text: str, value: int, low: int, high: int) -> bool:
        for item in text.replace("?", "*").replace("SUN", "0").split(","):
            body, _, step = item.partition("/")
            first, _, last = (f"{low}-{high}" if body == "*" else body).partition("-")
            if value in range(int(first), int(last or first) + 1, int(step or 1)):
                return True
        return False

    def on_day(local: datetime) -> bool:
        in_month = matches(days, local.day, 1, 31)
        in_week = matches(weekdays, local.isoweekday() % 7, 0, 6)
        if days in "*?" or weekdays in "*?":
            return in_month and in_week
        return in_month or in_week

    return [
        second * 1000
        for second, local in window
        if matches(minutes, local.minute, 0, 59)
        and matches(hours, local.hour, 0, 23)
        and on_day(local)
        and matches(months, local.month, 1, 12)
    ]


@cache
def first_showings(name: str, start: int, end: int) -> list[tuple[int, datetime]]:
    """The whole minutes of `[start, end)` at which the zone's clock shows a new local time."""
    zone, shown, found = ZoneInfo(name), set(), []
    for second in range(start - 2 * 86_400, end, 60):
        local = datetime.fromtimestamp(second, zone).replace(tzinfo=None)
        if local not in shown and second >= start:
            found.append((second, local))
        shown.add(local)
    return found


@cache
def changes(name: str, year: int) -> list[int]:
    """The full hours of a year, in epoch seconds, before which the offset changed; else its first of July."""
    zone = ZoneInfo(name)
    hours = [int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) + 3600 * hour for hour in range(366 * 24)]
    offsets = [datetime.fromtimestamp(hour, zone).utcoffset() for hour in hours]
    found = [hour for hour, (before, after) in zip(hours[1:], pairwise(offsets), strict=True) if before != after]
    return found or [hours[181 * 24]]


def windows() -> list[tuple[str, int, int]]:
    """A zone with a stretch of a day and a half or so around each change of its clocks."""
    return [
        (name, change - 86_400, change + 100_000)
        for name, years in ZONES_AND_YEARS
        for year in years
        for change in changes(name, year)[:4]
    ]


def walk(expression: Expression, first_ms: int, last_ms: int) -> list[int]:
    ticks: list[int] = []
    tick = expression.next_after(first_ms - 1)
    while tick is not None and tick <= last_ms:
        ticks.append(tick)
        tick = expression.next_after(tick)
    return ticks


@pytest.mark.parametrize(("name", "years"), ZONES_AND_YEARS)
def test_ticks_around_changes_of_the_clock_are_those_of_the_brute_force(name: str, years: tuple[int, ...]) -> None:
    for zone, start, end in windows():
        if zone != name:
            continue
        for fields in FIELDS:
            expression = parse(f"CRON_TZ={name} {fields}")
            expected = brute_force(fields, first_showings(name, start, end))
            first_ms, last_ms = start * 1000, end * 1000 - 1
            around = f"{expression.spec} around {datetime.fromtimestamp(start, UTC)}"
            assert walk(expression, first_ms, last_ms) == expected, around
            assert expression.most_recent(last_ms, len(expected) + 9, first_ms) == expected, around
            assert expression.count_between(first_ms, last_ms) == len(expected), around
            gaps = [later - earlier for earlier, later in pairwise(expected)]
            assert expression.smallest_gap_ms() <= min(gaps, default=10**18), around


@pytest.mark.parametrize("name", [name for name, _ in ZONES_AND_YEARS])
def test_questions_from_inside_a_change_are_answered_as_by_the_brute_force(name: str) -> None:
    random = Random(name)
    for zone, start, end in windows():
        if zone != name:
            continue
        fields = random.choice(FIELDS)
        expression = parse(f"CRON_TZ={name} {fields}")
        ticks = brute_force(fields, first_showings(name, start, end))
        members = set(ticks)
        for _ in range(60):
            low, high = sorted(random.randrange(start * 1000, end * 1000) for _ in range(2))
            between = [tick for tick in ticks if low <= tick <= high]
            assert expression.count_between(low, high) == len(between)
            assert expression.latest_at(high, low) == (between[-1] if between else None)
            assert expression.most_recent(high, 3, low) == between[-3:]
            after = [tick for tick in ticks if tick > low]
            assert not after or expression.next_after(low) == after[0]
            minute = random.randrange(start, end, 60) * 1000
            assert expression.is_tick(minute) == (minute in members)
