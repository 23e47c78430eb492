"""Intervals: multiples of the period, and nothing but arithmetic."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from duly.common.expression import parse

PERIODS = st.sampled_from([100, 101, 999, 1000, 60_000, 86_400_000, 31_622_400_000])
INSTANTS = st.integers(-(10**6), 5 * 10**12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(period=PERIODS, instant=INSTANTS)
def test_the_next_and_the_latest_tick_are_the_multiples_around_an_instant(period: int, instant: int) -> None:
    expression = parse(f"@every:{period}")
    following, latest = expression.next_after(instant), expression.latest_at(instant, 0)
    assert following is not None
    assert following > instant
    assert following % period == 0
    assert following - period <= instant or following == 0
    assert latest == (following - period if instant >= 0 else None)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(period=PERIODS, first=INSTANTS, length=st.integers(-5_000, 200_000), limit=st.integers(-2, 50))
def test_counts_and_recent_ticks_agree_with_writing_the_multiples_out(
    period: int, first: int, length: int, limit: int
) -> None:
    expression = parse(f"@every:{period}")
    last = first + length
    written_out = [ms for ms in range(first - first % period, last + 1, period) if ms >= max(first, 0)]
    assert expression.count_between(first, last) == len(written_out)
    assert expression.most_recent(last, limit, first) == written_out[-limit:] * (limit > 0)
    assert expression.latest_at(last, first) == (written_out[-1] if written_out else None)
    assert all(expression.is_tick(ms) for ms in written_out)
    assert not any(expression.is_tick(ms + 1) for ms in written_out)


def test_a_tick_is_not_after_itself_but_is_the_latest_at_itself() -> None:
    expression = parse("@every:1000")
    assert expression.next_after(5000) == 6000
    assert expression.next_after(4999) == 5000
    assert expression.latest_at(5000, 5000) == 5000
    assert expression.latest_at(5000, 5001) is None


def test_ticks_begin_at_the_epoch_and_end_at_the_horizon() -> None:
    expression = parse("@every:31622400000")
    assert expression.next_after(-(10**30)) == 0
    assert not expression.is_tick(-31_622_400_000)
    assert expression.next_after(10**18) is None
    last = expression.latest_at(10**18, 0)
    assert last is not None
    assert expression.next_after(last) is None


def test_the_smallest_gap_of_an_interval_is_its_period() -> None:
    assert parse("@every:1500").smallest_gap_ms() == 1500
