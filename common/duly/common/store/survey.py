"""What the duty holder sees: schedules and occurrences whose instant has come (`lua/survey.lua`)."""

from __future__ import annotations

import json
from dataclasses import dataclass

from duly.common.identity import Occurrence
from duly.common.store.connection import translated
from duly.common.store.scripts import Asked


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule whose instant has come, as the survey saw it. Instants in epoch milliseconds."""

    schedule_id: str
    revision: str
    definition_revision: str
    incarnation: str
    state: str
    next_run_ms: int | None
    paused_until_ms: int | None
    carry: str
    last_run_ms: int | None = None
    """The latest tick of its present timing whose run has finished."""


@dataclass(frozen=True, slots=True)
class WatchedOccurrence:
    """An open occurrence whose instant has come."""

    occurrence: Occurrence
    attempt: int
    queue: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What the duty holder saw. ``clock_ms``: the store's clock; ``upcoming_ms``: the next instant with work."""

    clock_ms: float
    schedules: list[DueSchedule]
    occurrences: list[WatchedOccurrence]
    upcoming_ms: int | None
    more_schedules: bool
    """Whether the page of schedules was full, so that more may be due. It can be full with fewer in ``schedules``: what
    is gone is taken off it by the look itself.
    """
    more_occurrences: bool
    """The same of the page of occurrences, off which those whose job still waits its turn are taken."""

    @property
    def now_ms(self) -> int:
        """The instant by which the store tells what is due: whole milliseconds that have passed."""
        return int(self.clock_ms)


class SurveyAsked:
    """A survey that was asked for: wait for it, or drop it."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def survey(self) -> Survey | None:
        """What was seen; None when the duty is lost."""
        with translated():
            reply = self._asked.reply()
        if reply[0] == "lost_duty":
            return None
        _, clock_ms, schedules, occurrences, upcoming, full = reply
        return Survey(
            clock_ms=float(clock_ms),
            schedules=[due_schedule(row) for row in json.loads(schedules)],
            occurrences=[
                WatchedOccurrence(Occurrence.parse(row[0]), int(row[1]), row[2] or "default")
                for row in json.loads(occurrences)
            ],
            upcoming_ms=min((int(float(each)) for each in upcoming if each), default=None),
            more_schedules=full[0] == 1,
            more_occurrences=full[1] == 1,
        )

    def drop(self) -> None:
        """Nobody wants it any more; it may have renewed the duty."""
        self._asked.drop()


def due_schedule(row: list[str]) -> DueSchedule:
    """A schedule as `lua/lib/due.lua` gives it."""
    schedule_id, revision, definition_revision, incarnation, state, next_run, until, carry, last_run = row
    return DueSchedule(
        schedule_id,
        revision,
        definition_revision,
        incarnation,
        state,
        int(next_run) if next_run.isdigit() else None,
        int(until) if until.isdigit() else None,
        carry,
        int(last_run) if last_run.isdigit() else None,
    )
