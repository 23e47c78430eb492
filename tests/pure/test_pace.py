"""How much one script call may do, learned from how long calls took."""

from __future__ import annotations

import pytest

from duly.scheduler.pace import FEWEST_TICKS, MOST_MS, MOST_TICKS, Pace


def settled(ms_per_tick: float) -> Pace:
    """After many calls on a store that takes this long for a tick."""
    pace = Pace()
    for _ in range(30):
        pace.learn(pace.ticks, pace.ticks * ms_per_tick)
    return pace


@pytest.mark.parametrize("ms_per_tick", [0.02, 0.05, 0.1, 0.3])
def test_a_call_takes_what_it_may_take_on_any_store(ms_per_tick: float) -> None:
    assert settled(ms_per_tick).ticks * ms_per_tick == pytest.approx(MOST_MS, rel=0.1)


def test_it_stays_within_bounds_however_fast_or_slow_the_store_is() -> None:
    assert settled(0.0).ticks == settled(0.000_1).ticks == MOST_TICKS
    assert settled(50.0).ticks == FEWEST_TICKS


def test_a_call_that_took_too_long_is_heeded_at_once() -> None:
    pace = settled(0.02)
    pace.learn(pace.ticks, 10 * MOST_MS)
    assert pace.ticks == pytest.approx(MOST_TICKS * 0.02 / 0.2, rel=0.3)


def test_room_for_more_is_used_by_half() -> None:
    pace = settled(0.1)
    pace.learn(pace.ticks, MOST_MS / 2)
    assert pace.ticks == pytest.approx(1.5 * MOST_MS / 0.1, rel=0.1)


def test_a_call_with_few_ticks_says_nothing() -> None:
    pace = settled(0.1)
    before = pace.ticks
    pace.learn(FEWEST_TICKS - 1, 1_000.0)
    assert pace.ticks == before
