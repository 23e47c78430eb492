"""The waits before something that ended is started again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duly.common.clock import Clock
from duly.common.process.keeping import Keeper
from duly.common.process.local import LocalProcess
from duly.common.process.restarts import LAST_RESTART_MS, STABLE_MS, Restarts


class MovedClock(Clock):
    def __init__(self) -> None:
        self.now_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.now_ms


class Ending(LocalProcess):
    """A process that has always ended already."""

    starts = 0

    def start(self) -> None:
        self.started_ms = self.clock.monotonic_ms()
        self.starts += 1


class Unforkable(Ending):
    def start(self) -> None:
        super().start()
        raise BlockingIOError(11, "no more processes")


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


def test_the_first_wait_is_the_shortest_and_each_is_twice_the_last_up_to_a_bound() -> None:
    restarts = Restarts()
    assert [restarts.ended(0, 0) for _ in range(7)] == [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]


def test_what_ran_for_a_while_begins_with_the_shortest_wait_again() -> None:
    restarts = Restarts()
    for _ in range(9):
        restarts.ended(0, 0)
    assert restarts.ended(STABLE_MS - 1, 0) == LAST_RESTART_MS
    assert [restarts.ended(STABLE_MS, 0), restarts.ended(STABLE_MS, STABLE_MS)] == [500, 1_000]


@pytest.mark.parametrize("kind", [Ending, Unforkable])
def test_a_process_that_keeps_ending_is_started_again_after_those_waits(
    clock: MovedClock, kind: Callable[..., Any]
) -> None:
    process, said = kind("worker", (), {}, clock=clock), list[str]()
    keeper = Keeper([process], clock, said.append)
    starts = []
    for _ in range(40):
        keeper.look()
        starts.append(process.starts)
        clock.now_ms += 100
    assert [starts.index(number) * 100 for number in (1, 2, 3)] == [500, 1_600, 3_700]
    ends = [each for each in said if "ended" in each]
    assert ends[:2] == ["worker ended; starting it again in 500 ms.", "worker ended; starting it again in 1000 ms."]
    could_not = [each for each in said if "could not be started: no more processes." in each]
    assert len(could_not) == (3 if kind is Unforkable else 0)
