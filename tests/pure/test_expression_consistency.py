"""The questions one can ask about the ticks of an expression never contradict each other."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from duly.common.expression import parse

ZONES = [
    "UTC",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Africa/Casablanca",
    "Pacific/Apia",
    "Europe/Dublin",
    "America/New_York",
    "Asia/Kathmandu",
    "Antarctica/Troll",
    "Antarctica/Casey",
    "Asia/Gaza",
    "Africa/Monrovia",
]
FIELDS = [
    "* * * * * *",
    "*/7 * * * * *",
    "13,44 */9 1-3 * * *",
    "0 * * * *",
    "30 2 * * *",
    "0 0,12 * * *",
    "0 9 * * MON-FRI",
    "15 1 13 * FRI",
    "0 0 1 */3 *",
    "0 0 29 2 *",
]
INTERVALS = ["@every:100", "@every:7001", "@every:86400000"]

specs = st.one_of(
    st.builds("CRON_TZ={} {}".format, st.sampled_from(ZONES), st.sampled_from(FIELDS)),
    st.sampled_from(INTERVALS),
)
# Autumn and spring of most zones, the years in which odd things happened, and anything else in 130 years.
years = st.one_of(st.sampled_from([1972, 1986, 2000, 2011, 2018, 2026]), st.integers(1970, 2100))
instants = st.builds(
    lambda year, day, ms: round(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000) + day * 86_400_000 + ms,
    years,
    st.integers(0, 364),
    st.one_of(st.integers(0, 86_399_999), st.integers(0, 86_399).map(lambda second: second * 1000)),
)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(spec=specs, instant=instants)
def test_the_tick_after_an_instant_and_the_latest_at_it_are_neighbours(spec: str, instant: int) -> None:
    expression = parse(spec)
    latest, following = expression.latest_at(instant, 0), expression.next_after(instant)
    assert following is not None
    assert expression.is_tick(following)
    assert expression.latest_at(following, 0) == following
    assert expression.latest_at(following - 1, 0) == latest
    assert expression.count_between(instant + 1, following) == 1
    if latest is not None:
        assert latest <= instant < following
        assert expression.is_tick(latest)
        assert expression.next_after(latest) == following
        assert expression.next_after(latest - 1) == latest
        assert following - latest >= expression.smallest_gap_ms() > 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(spec=specs, now=instants, limit=st.integers(0, 20), reach=st.integers(0, 10**11))
def test_recent_ticks_are_successive_and_end_with_the_latest(spec: str, now: int, limit: int, reach: int) -> None:
    expression = parse(spec)
    ticks = expression.most_recent(now, limit, now - reach)
    assert len(ticks) == min(limit, expression.count_between(now - reach, now))
    if ticks:
        assert ticks[-1] == expression.latest_at(now, now - reach)
    for earlier, later in pairwise(ticks):
        assert expression.next_after(earlier) == later


@settings(max_examples=200, deadline=None, derandomize=True)
@given(spec=specs, edges=st.lists(instants, min_size=3, max_size=3).map(sorted))
def test_counts_of_adjoining_ranges_add_up(spec: str, edges: list[int]) -> None:
    expression = parse(spec)
    first, middle, last = edges
    whole = expression.count_between(first, last)
    assert whole == expression.count_between(first, middle) + expression.count_between(middle + 1, last)
    assert expression.count_between(last, first - 1) == 0
    assert expression.count_between(first, first) == expression.is_tick(first)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(fields=st.sampled_from(FIELDS), first=instants, length=st.integers(0, 40 * 365))
def test_a_count_over_years_is_the_count_of_its_days(fields: str, first: int, length: int) -> None:
    expression = parse(f"CRON_TZ=America/New_York {fields}")
    day = 86_400_000
    edges = range(first, first + length * day + 1, 97 * day)
    parts = sum(expression.count_between(edge, edge + 97 * day - 1) for edge in edges)
    assert parts == expression.count_between(first, edges[-1] + 97 * day - 1)
