"""The function that our jobs name. A job names an occurrence; the occurrence's record authorises.

A worker's rounds attempt such jobs themselves. RQ calls the function only for one that a round leaves to it: a job that
is not written as our scripts write it, as after `rq requeue`, which writes it anew.
"""

from __future__ import annotations

import logging

from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence, check_schedule_id, check_tick_ms
from duly.worker.attempt import Attempter

log = logging.getLogger(__name__)

_attempter: Attempter | None = None


def install(attempter: Attempter) -> None:
    """Make this process one that can attempt occurrences."""
    global _attempter
    _attempter = attempter


def attempt_occurrence(schedule_id: str, tick_ms: int, attempt: int) -> str:
    """Make one attempt; the word that says what became of it is RQ's result.

    Raises RuntimeError in a process that is no duly worker: the occurrence stays and is delivered again. RQ keeps and
    logs the text of what is raised here, so nothing raised below leaves with its own.
    """
    if _attempter is None:
        raise RuntimeError("this job is for a duly worker (duly worker -m your.tasks)")
    occurrence = Occurrence(check_schedule_id(schedule_id), check_tick_ms(tick_ms))
    try:
        return _attempter.attempt(occurrence, int(attempt))
    except StoreUnavailable as error:
        log.warning("%s not attempted: %s", occurrence, error, extra={"action": error.code})
        return error.code
    except Exception as error:  # noqa: BLE001 - only its kind may leave
        raise RuntimeError(f"the attempt ended by {type(error).__name__}") from None
