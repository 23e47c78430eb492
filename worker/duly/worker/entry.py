"""The one function that RQ calls for our jobs. A job names an occurrence; the occurrence's record authorises."""

from __future__ import annotations

from duly.common.identity import Occurrence, check_schedule_id, check_tick_ms
from duly.worker.attempt import Attempter

_attempter: Attempter | None = None


def install(attempter: Attempter) -> None:
    """Make this process one that can attempt occurrences."""
    global _attempter
    _attempter = attempter


def attempt_occurrence(schedule_id: str, tick_ms: int, attempt: int) -> str:
    """Make one attempt; the word that says what became of it is RQ's result.

    Raises RuntimeError in a process that is no duly worker: the occurrence stays and is delivered again.
    """
    if _attempter is None:
        raise RuntimeError("this job is for a duly worker (duly worker -m your.tasks)")
    occurrence = Occurrence(check_schedule_id(schedule_id), check_tick_ms(tick_ms))
    return _attempter.attempt(occurrence, int(attempt))
