"""Timetables: the ticks of an expression between two bounds, and when each may be released."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duly.common.expression import parse
from duly.common.identity import Occurrence, stable_hash
from duly.common.instant import to_ms
from duly.common.timetable import TickRange, Timetable

SPAN_MS = 6 * 3_600_000
# Each with a day on which its zone does something unusual, if it has one.
RULES = [
    ("@every:1000", "2026-01-01T00:00:00Z"),
    ("@every:700", "2026-01-01T00:00:00Z"),
    ("@every:3600000", "2026-01-01T00:00:00Z"),
    ("*/5 * * * *", "2026-01-01T22:00:00Z"),
    ("*/20 */7 * * * *", "2026-01-01T22:00:00Z"),
    ("0 9,12-14 * * MON-FRI", "2026-01-02T08:00:00Z"),
    ("CRON_TZ=America/New_York 15,45 * * * *", "2026-03-08T05:00:00Z"),
    ("CRON_TZ=America/New_York 15,45 * * * *", "2026-11-01T04:00:00Z"),
    ("CRON_TZ=Australia/Lord_Howe */10 * * * *", "2026-04-04T13:00:00Z"),
    ("0 0 29 2 *", "2026-01-01T00:00:00Z"),
]


def timetable(spec: str = "@every:1000", **fields: int | None) -> Timetable:
    return Timetable("docs", parse(spec), **fields)  # type: ignore[arg-type]


@st.composite
def windows(draw: st.DrawFn) -> tuple[Timetable, int, int]:
    """A timetable with bounds near a window of some hours, and the window's first and last millisecond."""
    spec, day = draw(st.sampled_from(RULES))
    origin = to_ms(day, "day")
    expression = parse(spec)
    length = min(SPAN_MS, 400 * expression.smallest_gap_ms())
    instants = st.integers(-length // 4, length + length // 4).map(lambda offset: origin + offset)
    start = draw(st.just(0) | instants)
    end = draw(st.none() | instants)
    jitter = draw(st.integers(0, expression.smallest_gap_ms() - 1))
    first, last = sorted((draw(instants), draw(instants)))
    return Timetable(draw(st.sampled_from(["a", "docs", "z-9"])), expression, jitter, start, end), first, last


def walked(table: Timetable, first_ms: int, last_ms: int) -> list[int]:
    """The ticks in ``[first_ms, last_ms]``, one step of the bare expression at a time."""
    ticks = []
    tick = table.expression.next_after(first_ms - 1)
    while tick is not None and tick <= last_ms:
        if tick >= table.start_ms and (table.end_ms is None or tick <= table.end_ms):
            ticks.append(tick)
        tick = table.expression.next_after(tick)
    return ticks


@settings(deadline=None)
@given(windows())
def test_the_range_between_two_instants_is_what_walking_finds(case: tuple[Timetable, int, int]) -> None:
    table, first, last = case
    ticks = walked(table, first, last)
    expected = TickRange(len(ticks), ticks[0], ticks[-1]) if ticks else None
    assert table.range_between(first, last) == expected


@settings(deadline=None)
@given(windows(), st.integers(0, 30))
def test_the_most_recent_ticks_are_the_end_of_what_walking_finds(case: tuple[Timetable, int, int], limit: int) -> None:
    table, first, last = case
    ticks = walked(table, first, last)
    assert table.most_recent(last, limit, first) == (ticks[-limit:] if limit else [])


@settings(deadline=None)
@given(windows())
def test_the_latest_released_tick_is_the_last_whose_release_has_come(case: tuple[Timetable, int, int]) -> None:
    table, first, now = case
    released = [tick for tick in walked(table, first, now) if table.release_ms(tick) <= now]
    assert table.latest_released(now, first) == (released[-1] if released else None)


@settings(deadline=None)
@given(windows())
def test_every_tick_up_to_the_latest_released_one_is_released_too(case: tuple[Timetable, int, int]) -> None:
    table, first, now = case
    latest = table.latest_released(now, first)
    if latest is not None:
        assert all(table.release_ms(tick) <= now for tick in walked(table, first, latest))


@settings(deadline=None)
@given(windows())
def test_the_next_tick_is_the_first_that_walking_finds_inside_the_bounds(case: tuple[Timetable, int, int]) -> None:
    table, after, last = case
    ticks = walked(table, after + 1, last)
    found = table.next_after(after)
    if ticks:
        assert found == ticks[0]
    else:
        assert found is None or found > last


@settings(deadline=None)
@given(windows())
def test_jitter_stays_inside_its_window_and_never_reorders_ticks(case: tuple[Timetable, int, int]) -> None:
    table, first, last = case
    ticks = walked(table, first, last)
    releases = [table.release_ms(tick) for tick in ticks]
    assert all(0 <= release - tick <= table.jitter_window_ms for tick, release in zip(ticks, releases, strict=True))
    assert all(earlier < later for earlier, later in pairwise(releases))


@settings(deadline=None)
@given(windows())
def test_jitter_never_changes_which_instants_are_ticks(case: tuple[Timetable, int, int]) -> None:
    table, first, last = case
    plain = Timetable(table.schedule_id, table.expression, 0, table.start_ms, table.end_ms)
    assert table.range_between(first, last) == plain.range_between(first, last)
    assert table.next_after(first) == plain.next_after(first)
    assert table.most_recent(last, 5, first) == plain.most_recent(last, 5, first)


def test_the_offset_of_a_tick_is_a_hash_of_the_occurrence_and_nothing_else() -> None:
    table = timetable(jitter_window_ms=999)
    for tick in (0, 1000, 1_767_225_600_000):
        assert table.release_ms(tick) == tick + stable_hash(str(Occurrence("docs", tick))) % 1000
        assert timetable(jitter_window_ms=999, start_ms=5, end_ms=10**13).release_ms(tick) == table.release_ms(tick)


def test_offsets_spread_over_the_whole_window() -> None:
    table = timetable("@every:60000", jitter_window_ms=9)
    offsets = {table.release_ms(tick) - tick for tick in range(0, 60_000 * 500, 60_000)}
    assert offsets == set(range(10))


def test_schedules_that_share_an_expression_are_not_released_together() -> None:
    expression = parse("@every:60000")
    releases = {Timetable(f"s{n}", expression, 59_999).release_ms(60_000) for n in range(50)}
    assert len(releases) > 45


def test_without_a_window_a_tick_is_released_at_once() -> None:
    assert timetable().release_ms(5000) == 5000


def test_both_bounds_belong_to_the_timetable() -> None:
    table = timetable(start_ms=2000, end_ms=5000)
    assert table.next_after(0) == 2000
    assert table.next_after(1999) == 2000
    assert table.next_after(2000) == 3000
    assert table.next_after(4999) == 5000
    assert table.next_after(5000) is None
    assert table.range_between(0, 9000) == TickRange(4, 2000, 5000)
    assert table.most_recent(9000, 2, 0) == [4000, 5000]
    assert table.latest_released(9000, 0) == 5000
    assert table.latest_released(1999, 0) is None
    assert [tick for tick in range(0, 9000, 500) if table.is_tick(tick)] == [2000, 3000, 4000, 5000]


def test_bounds_that_are_no_ticks_themselves_add_none() -> None:
    table = timetable(start_ms=1500, end_ms=3500)
    assert table.range_between(0, 9000) == TickRange(2, 2000, 3000)
    assert not table.is_tick(1500)
    assert not table.is_tick(3500)


@pytest.mark.parametrize(("start_ms", "end_ms", "wrong"), [(0, None, False), (5, 6, False), (5, 5, True), (6, 5, True)])
def test_bounds_in_the_wrong_order_are_noticed(start_ms: int, end_ms: int | None, wrong: bool) -> None:
    assert timetable(start_ms=start_ms, end_ms=end_ms).end_before_start is wrong


def test_bounds_with_no_tick_between_them_leave_an_empty_timetable() -> None:
    table = timetable("0 9 * * *", start_ms=1000, end_ms=2000)
    assert table.next_after(0) is None
    assert table.range_between(0, 10**12) is None
    assert table.most_recent(10**12, 3, 0) == []
    assert table.latest_released(10**12, 0) is None


def test_an_empty_window_has_no_ticks() -> None:
    assert timetable().range_between(5000, 4000) is None
    assert timetable().range_between(5001, 5999) is None
    assert timetable().range_between(5000, 5000) == TickRange(1, 5000, 5000)


def test_a_tick_that_waits_for_its_release_leaves_the_one_before_it_as_the_latest() -> None:
    table = timetable("@every:60000", jitter_window_ms=59_999)
    tick = next(tick for tick in range(60_000, 6_000_000, 60_000) if table.release_ms(tick) > tick)
    assert table.latest_released(table.release_ms(tick), 0) == tick
    assert table.latest_released(table.release_ms(tick) - 1, 0) == tick - 60_000
    assert table.latest_released(table.release_ms(tick) - 1, tick) is None


def test_a_backlog_of_years_is_counted_without_walking_it() -> None:
    day = to_ms("2026-01-01T00:00:00Z", "day")
    table = timetable("@every:1000", jitter_window_ms=999)
    assert table.range_between(0, day) == TickRange(day // 1000 + 1, 0, day)
    assert table.most_recent(day, 2, 0) == [day - 1000, day]
    assert table.latest_released(day + 999, 0) == day
