"""The next changes of a timetable's wall clock, with the ticks around them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from duly.common.explain.clocks import DAY_MS, HOUR_MS, turns
from duly.common.explain.ticks import Tick, next_ticks
from duly.common.timetable import Timetable

LOOK_AHEAD_DAYS = 400
MOST_CHANGES = 2
AROUND = 6


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of the zone's clocks: what it does, what it does to the timetable, and the ticks around it."""

    at_ms: int
    what: str
    effect: str
    ticks: Sequence[Tick]


def clock_changes(timetable: Timetable, now_ms: int) -> list[ClockChange]:
    """The next changes of the zone's clocks, at most two, each with the ticks around it."""
    found = turns(timetable, now_ms, now_ms + LOOK_AHEAD_DAYS * DAY_MS)
    return [
        ClockChange(turn.at_ms, turn.what, turn.effect, _around(timetable, turn.at_ms))
        for turn in islice(found, MOST_CHANGES)
    ]


def _around(timetable: Timetable, at_ms: int) -> Sequence[Tick]:
    found = next_ticks(timetable, at_ms - 3 * HOUR_MS - 1, AROUND)
    return [tick for tick in found if tick.ms <= at_ms + DAY_MS]
