"""Asking a guarded task's probe what an earlier attempt left behind. Whatever is no clear answer is UNKNOWN."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial

from duly.worker.copies import in_this_process
from duly.worker.lease_keeper import AttemptTimedOut, LeaseKeeper
from duly.worker.tasks import Task

log = logging.getLogger(__name__)

PROBE_TIMEOUT_MS = 30_000.0
COMMITTED, NO_COMMITTED_RESULT, UNKNOWN = "COMMITTED", "NO_COMMITTED_RESULT", "UNKNOWN"
PROBE_ANSWERS = frozenset({COMMITTED, NO_COMMITTED_RESULT, UNKNOWN})


@dataclass(frozen=True, slots=True)
class Probed:
    """The answer, one of the three words, and how it came about, as it is recorded."""

    answer: str
    cause: str


def ask_probe(task: Task, idempotency_key: str, keeper: LeaseKeeper) -> Probed:
    """Call the task's probe, for half a minute at most; never raises."""
    assert task.probe is not None
    try:
        keeper.start_timeout(PROBE_TIMEOUT_MS)
        answer = in_this_process(partial(task.probe, idempotency_key))
        keeper.stop_timeout()
    except AttemptTimedOut:
        keeper.stop_timeout()
        return _unknown(task, "the probe ran into its time-out")
    except BaseException as error:  # noqa: BLE001 - a probe that raises knows nothing, SystemExit included
        keeper.stop_timeout()
        return _unknown(task, f"the probe raised {type(error).__name__}")
    if not isinstance(answer, str) or answer not in PROBE_ANSWERS:
        return _unknown(task, f"the probe answered none of {', '.join(sorted(PROBE_ANSWERS))}")
    return Probed(answer, f"the probe answered {answer}")


def _unknown(task: Task, cause: str) -> Probed:
    log.error("task %s: %s, so nothing is known", task.name, cause, extra={"action": "probe"})
    return Probed(UNKNOWN, cause)
