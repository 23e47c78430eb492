"""Cron rules in UTC, where local time is UTC, against croniter as a second opinion."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise

import pytest
from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from duly.common.expression import Expression, parse

RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}
NAMES = {"month": ["JAN", "feb", "Mar", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]}


def ms(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1000  # type: ignore[arg-type,misc]


def text(tick: int | None) -> str:
    assert tick is not None
    return f"{datetime.fromtimestamp(tick / 1000, UTC):%Y-%m-%d %H:%M:%S}"


@st.composite
def items(draw: st.DrawFn, kind: str) -> str:
    low, high = RANGES[kind]
    first = draw(st.integers(low, high - 1))
    last = draw(st.integers(first + 1, high))
    step = draw(st.integers(1, high - low))
    return draw(
        st.sampled_from(
            [
                f"{first}",
                f"{last}",
                f"{first}-{last}",
                f"{first}-{last}/{step}",
                f"*/{step}",
                f"{first}/{step}",
            ]
        )
    )


def fields(kind: str) -> st.SearchStrategy[str]:
    listed = st.lists(items(kind), min_size=1, max_size=3).map(",".join)
    named = st.sampled_from(NAMES[kind]) if kind in NAMES else st.just("*")
    return st.one_of(st.just("*"), listed, named)


@st.composite
def specs(draw: st.DrawFn) -> str:
    texts = [draw(fields(kind)) for kind in RANGES]
    if draw(st.booleans()):
        texts.insert(0, draw(fields("minute")))
    return " ".join(texts)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(spec=specs(), start=st.integers(ms(1971, 1, 1) // 1000, ms(2090, 1, 1) // 1000))
def test_ticks_in_utc_are_those_croniter_finds(spec: str, start: int) -> None:
    seconds_first = len(spec.split()) == 6
    *_, day, _month, weekday = spec.split()
    sets = croniter.expand(spec, second_at_beginning=seconds_first)[0]
    # croniter takes a day field that lists all its values for an unrestricted one.
    assume((day == "*" or sets[2] != ["*"]) and (weekday == "*" or sets[4] != ["*"]))
    try:
        other = croniter(spec, datetime.fromtimestamp(start, UTC), second_at_beginning=seconds_first)
        expected = [other.get_next(datetime) for _ in range(12)]
    except ValueError:
        with pytest.raises(ValueError, match="never comes"):
            parse(spec)
        return
    expression, after = parse(spec), start * 1000
    for moment in expected:
        tick = expression.next_after(after)
        assert tick is not None
        assert datetime.fromtimestamp(tick / 1000, UTC) == moment
        after = tick
    first = expression.next_after(start * 1000)
    assert first is not None
    assert expression.count_between(first, after) == 12
    assert expression.most_recent(after, 12, 0)[0] == first


@pytest.mark.parametrize(
    ("spec", "after", "expected"),
    [
        ("0 9 * * MON-FRI", (2026, 7, 24, 9), "2026-07-27 09:00:00"),
        ("*/7 * * * *", (2026, 1, 1, 0, 56), "2026-01-01 01:00:00"),
        ("30 0 12 * * *", (2026, 1, 1, 12, 0, 30), "2026-01-02 12:00:30"),
        ("0 0 29 2 *", (2026, 1, 1), "2028-02-29 00:00:00"),
        ("0 0 29 2 *", (2096, 2, 29), "2104-02-29 00:00:00"),
        ("0 0 29 2 1", (2026, 1, 31), "2026-02-02 00:00:00"),
        ("0 0 29 2 1", (2028, 2, 28), "2028-02-29 00:00:00"),
        ("0 0 31 2 1", (2026, 2, 2), "2026-02-09 00:00:00"),
        ("0 0 13 * FRI", (2026, 2, 6), "2026-02-13 00:00:00"),
        ("0 0 13 * FRI", (2026, 1, 9), "2026-01-13 00:00:00"),
        ("0 0 */2 * MON", (2026, 1, 11), "2026-01-12 00:00:00"),
        ("0 0 31 * *", (2026, 1, 31), "2026-03-31 00:00:00"),
        ("59 59 23 31 12 *", (2026, 12, 31, 23, 59, 58), "2026-12-31 23:59:59"),
        ("0 0 1 1 *", (1969, 12, 31), "1970-01-01 00:00:00"),
    ],
)
def test_named_rules_come_when_people_expect(spec: str, after: tuple[int, ...], expected: str) -> None:
    assert text(parse(spec).next_after(ms(*after))) == expected


def test_a_leap_day_rule_looks_back_over_a_century_without_one() -> None:
    expression = parse("0 0 29 2 *")
    assert text(expression.latest_at(ms(2104, 1, 1), 0)) == "2096-02-29 00:00:00"
    assert expression.count_between(0, ms(2401, 1, 1)) == 108 - 3  # 2100, 2200 and 2300 have none


def test_milliseconds_between_two_seconds_belong_to_the_earlier_one() -> None:
    expression = parse("* * * * * *")
    assert expression.next_after(1_999) == 2_000
    assert expression.next_after(2_000) == 3_000
    assert expression.latest_at(2_999, 0) == 2_000
    assert expression.latest_at(2_999, 2_001) is None
    assert expression.count_between(1_001, 2_999) == 1
    assert expression.is_tick(2_000)
    assert not expression.is_tick(2_001)


@pytest.mark.parametrize("zone", ["", "CRON_TZ=America/New_York ", "CRON_TZ=Pacific/Kiritimati "])
def test_any_integer_may_be_asked_about_and_outside_the_years_there_is_no_tick(zone: str) -> None:
    expression = parse(f"{zone}0 12 * * *")
    first, last = expression.next_after(-(10**30)), expression.latest_at(10**30, 0)
    assert first is not None
    assert last is not None
    assert 0 <= first <= ms(1970, 1, 2)
    assert ms(9999, 12, 29) <= last < ms(9999, 12, 31)
    assert expression.latest_at(first - 1, -(10**30)) is None
    assert expression.next_after(last) is None
    assert expression.next_after(10**30) is None
    assert expression.count_between(10**30, 10**31) == expression.count_between(-(10**30), -1) == 0
    assert expression.most_recent(-1, 5, -(10**30)) == []
    assert not expression.is_tick(10**30)
    assert not expression.is_tick(-86_400_000 * 10)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        ("* * * * * *", 1),
        ("*/7 * * * * *", 4),
        ("0,50 0,59 1-2 * * *", 10),
        ("*/5 * * * *", 300),
        ("0,59 * * * *", 60),
        ("0 9 * * *", 86_400),
        ("0 9,17 * * *", 8 * 3600),
        ("0 0,23 * * *", 3600),
        ("0 9 * * MON-FRI", 86_400),
        ("0 9 * * MON", 7 * 86_400),
        ("0 9 1 * *", 28 * 86_400),
        ("0 9 31 * *", 31 * 86_400),
        ("0 0 29 2 *", 1461 * 86_400),
        ("0 1,23 * * MON,WED", 22 * 3600),
        ("0 0 1,31 * *", 86_400),
        ("0 0 1 1,12 *", 31 * 86_400),
    ],
)
def test_the_smallest_gap_in_utc_is_exact(spec: str, seconds: int) -> None:
    expression = parse(spec)
    assert expression.smallest_gap_ms() == seconds * 1000
    ticks = list(islice(walk(expression, ms(2000, 1, 1)), 3000 if seconds < 86_400 else 400))
    assert min(later - earlier for earlier, later in pairwise(ticks) if later < ms(2090, 1, 1)) == seconds * 1000


def walk(expression: Expression, after: int):  # type: ignore[no-untyped-def]
    tick = expression.next_after(after)
    while tick is not None:
        yield tick
        tick = expression.next_after(tick)
