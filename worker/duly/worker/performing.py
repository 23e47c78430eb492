"""Running a task, and what its end says of its outcome. Knows nothing of the store.

Unknown is neither success nor failure: only an Exception of the task's own says that nothing was done.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial
from typing import Any

from duly.common.identity import Occurrence, job_id
from duly.worker.copies import in_this_process
from duly.worker.group_guard import end_children
from duly.worker.lease_keeper import AttemptTimedOut, LeaseKeeper
from duly.worker.run import OutcomeUnknown, Run, as_current

log = logging.getLogger(__name__)


class Kind(StrEnum):
    """What is known of an attempt's effect."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``said``: the success's reference, the failure's class, or why nothing is known. Never an error's text."""

    kind: Kind
    said: str


class ArgumentsDoNotFit(TypeError):
    """The schedule's args and kwargs cannot be passed to the task; the message names parameters, never values."""


def perform(
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    run: Run,
    timeout_ms: int,
    keeper: LeaseKeeper,
) -> Outcome:
    """Run the task under its time-out. Raises nothing that the task raised."""
    occurrence = Occurrence(run.schedule_id, run.tick_ms)
    try:
        keeper.start_timeout(timeout_ms)
        with as_current(run):
            in_this_process(partial(_call, function, args, kwargs))
        keeper.stop_timeout()
    except BaseException as error:  # noqa: BLE001 - whatever ends the work, its outcome is recorded
        keeper.stop_timeout()
        # What the work started must not act on beside the next attempt, or behind a hold.
        end_children()
        return outcome_of(error, occurrence, run.attempt)
    # A success without a reference of its own refers to the attempt that made it.
    return Outcome(Kind.SUCCEEDED, run.result_ref or job_id(occurrence, run.attempt))


def outcome_of(error: BaseException, occurrence: Occurrence, attempt: int) -> Outcome:
    """What the exception that ended the work says of its outcome; it is logged, without its words."""
    if isinstance(error, AttemptTimedOut):
        log.error("%s attempt %d timed out%s", occurrence, attempt, _where(error), extra={"action": "timeout"})
        return Outcome(Kind.UNKNOWN, "timeout")
    if isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
        name, behind = type(error).__name__, error.__cause__
        cause = name if behind is None else f"{name} from {type(behind).__name__}"
        where = _where(error if behind is None else behind)
        log.error("%s attempt %d ended by %s%s", occurrence, attempt, cause, where, extra={"action": "outcome_unknown"})
        return Outcome(Kind.UNKNOWN, cause)
    _log_failure(occurrence, attempt, error)
    return Outcome(Kind.FAILED, type(error).__name__)


def _call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        _signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentsDoNotFit(str(error)) from None
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        asyncio.run(result)


# Asked for with each attempt, and the same for each.
_signature = lru_cache(maxsize=256)(inspect.signature)


def _log_failure(occurrence: Occurrence, attempt: int, error: Exception) -> None:
    """Where it failed, not what was said: an exception's text may hold payloads and secrets."""
    said = f": {error}" if isinstance(error, ArgumentsDoNotFit) else ""
    name, where = type(error).__name__, _where(error)
    log.error("%s attempt %d raised %s%s%s", occurrence, attempt, name, said, where, extra={"action": "failed"})


# Frames that every attempt comes through, and no task's.
_OURS = {__file__, inspect.getfile(LeaseKeeper), inspect.getfile(in_this_process)}


def _where(error: BaseException) -> str:
    """The lines of the task's code that it came through, the last one last."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename not in _OURS]
    return "".join(f"\n{line.rstrip()}" for line in traceback.format_list(frames))
