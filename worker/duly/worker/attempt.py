"""One attempt at one occurrence: acquire, decide, begin, run, record. Runs in a work-horse."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence, job_id, new_token
from duly.common.records.definition import ScheduleDefinition
from duly.common.store import Store
from duly.common.store.attempts import (
    AttemptStore,
    Carried,
    CarriedOut,
    Claim,
    Ending,
    Grant,
    Judgement,
    Lease,
)
from duly.worker import gate
from duly.worker.group_guard import end_children
from duly.worker.lease_keeper import AttemptTimedOut, LeaseKeeper
from duly.worker.probe import COMMITTED, Probed, ask_probe
from duly.worker.run import OutcomeUnknown, as_current, run_of
from duly.worker.tasks import Task, find_task

log = logging.getLogger(__name__)

MOST_LOOKS = 100
"""How often evidence that changes under its reader is decided anew before the occurrence is handed back."""
_ASK_AGAIN_S = 0.2
_Answer = TypeVar("_Answer")


class Attempter:
    """Makes attempts for one owner. ``owner`` names this very process: its parent reports its death by it."""

    def __init__(
        self,
        store: Store,
        owner: str,
        clock: Clock | None = None,
        keeper: Callable[[AttemptStore, Lease, float, Clock], LeaseKeeper] = LeaseKeeper,
    ) -> None:
        self._attempts = store.attempts
        self._owner = owner
        self._clock = clock or SystemClock()
        self._keeper = keeper

    def attempt(self, occurrence: Occurrence, attempt: int) -> str:
        """Make attempt number ``attempt``; one word says what became of it, for the log and RQ's record.

        Never raises what the task raised. StoreUnavailable is raised when the store could not be asked before
        the lease was granted; afterwards the outcome is asked to be recorded until the lease ends.
        """
        record = self._attempts.find(occurrence)
        if record is None:
            return Claim.MISSING.value
        task = find_task(record.task)
        if task is None:
            self._attempts.refuse(occurrence, "task_not_registered")
            log.warning("%s: no task '%s' here", occurrence, record.task, extra={"action": "task_not_registered"})
            return "task_not_registered"
        asked_ms = self._clock.monotonic_ms()
        grant = self._attempts.acquire(occurrence, attempt, new_token(), self._owner)
        if grant.claim is Claim.COALESCED and grant.newer_tick_ms not in {None, occurrence.tick_ms}:
            # The newer tick takes the older one's place in the queue, or a busy queue would coalesce for ever.
            return self.attempt(Occurrence(occurrence.schedule_id, int(grant.newer_tick_ms or 0)), 1)
        if grant.lease is None:
            return grant.claim.value
        with self._keeper(self._attempts, grant.lease, asked_ms, self._clock) as keeper:
            return self._under_lease(task, grant, keeper)

    def _under_lease(self, task: Task, grant: Grant, keeper: LeaseKeeper) -> str:
        lease, record, definition = grant.lease, grant.record, grant.definition
        assert lease is not None
        assert record is not None
        assert definition is not None
        evidence = grant.evidence
        probed: Probed | None = None
        for _ in range(MOST_LOOKS):
            assert evidence is not None
            if probed is None and gate.needs_probe(evidence, task.effects):
                probed = ask_probe(task, record.idempotency_key, keeper)
                if probed.answer == COMMITTED:
                    committed = partial(self._attempts.commit_by_probe, lease, "probe: COMMITTED")
                    return self._record(keeper, lease, committed)
            judgement = gate.judge(evidence, task.effects, probed.answer if probed else None)
            carried = self._carry_out(task, lease, judgement, probed.cause if probed else "", keeper)
            if carried.word is Carried.BEGUN:
                return self._run(task, lease, record.idempotency_key, definition, keeper)
            if carried.word is not Carried.CHANGED:
                return carried.word.value
            evidence = carried.evidence
        return self._record(keeper, lease, partial(self._attempts.relinquish, lease, "evidence_unsettled"))

    def _carry_out(self, task: Task, lease: Lease, judgement: Judgement, cause: str, keeper: LeaseKeeper) -> CarriedOut:
        """Have the store begin, hold or hand back, by compare-and-set on the evidence of the decision."""
        decision = judgement.decision
        if decision.runs:
            ask = partial(self._attempts.begin, lease, task.effects, judgement)
        elif decision.holds:
            ask = partial(self._attempts.hold, lease, judgement, cause)
        else:
            ask = partial(self._attempts.hand_back, lease, judgement, gate.not_before_ms(judgement))
        keeper.settle(not decision.runs)
        carried = self._until_known(keeper, ask)
        level = logging.WARNING if carried.word is Carried.HELD else logging.INFO
        word = "began" if carried.word is Carried.BEGUN else carried.word.value
        said = f"attempt {lease.attempt} {word} ({decision.value})"
        log.log(level, "%s %s", lease.occurrence, said, extra={"action": word})
        return carried

    def _run(
        self, task: Task, lease: Lease, idempotency_key: str, definition: ScheduleDefinition, keeper: LeaseKeeper
    ) -> str:
        run = run_of(lease, idempotency_key, definition.timeout_ms, self._attempts)
        try:
            keeper.start_timeout(definition.timeout_ms)
            with as_current(run):
                _call(task.function, definition.args, definition.kwargs)
            keeper.stop_timeout()
        except BaseException as error:  # noqa: BLE001 - whatever ends the work, its outcome is recorded
            keeper.stop_timeout()
            # What the work started must not act on beside the next attempt, or behind a hold.
            end_children()
            ending = self._unsuccessful(lease, error)
        else:
            # A success without a reference of its own refers to the attempt that made it.
            result_ref = run.result_ref or job_id(lease.occurrence, lease.attempt)
            ending = partial(self._attempts.complete, lease, result_ref)
        return self._record(keeper, lease, ending)

    def _record(self, keeper: LeaseKeeper, lease: Lease, ending: Callable[[], Ending]) -> str:
        """Have the store record how the attempt ended, and say so; the store's word."""
        keeper.settle()
        result = self._until_known(keeper, ending)
        level = logging.WARNING if result is Ending.HELD else logging.INFO
        words = in_words(result)
        log.log(level, "%s attempt %d: %s", lease.occurrence, lease.attempt, words, extra={"action": "ended"})
        return result.value

    def _unsuccessful(self, lease: Lease, error: BaseException) -> Callable[[], Ending]:
        """How to record an attempt that an exception ended. Only an Exception says that nothing was done."""
        if isinstance(error, AttemptTimedOut):
            return partial(self._attempts.relinquish, lease, "timeout")
        if isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
            name, behind = type(error).__name__, error.__cause__
            cause = name if behind is None else f"{name} from {type(behind).__name__}"
            log.error("%s ended by %s", lease.occurrence, cause, extra={"action": "outcome_unknown"})
            return partial(self._attempts.relinquish, lease, cause)
        _log_failure(lease, error)
        return partial(self._attempts.fail, lease, type(error).__name__)

    @staticmethod
    def _until_known(keeper: LeaseKeeper, ask: Callable[[], _Answer]) -> _Answer:
        """Ask until the store answers: every transition is safe to ask again. The lease's end ends the asking."""
        while True:
            try:
                return ask()
            except StoreUnavailable as error:
                log.warning("not recorded yet: %s", error, extra={"action": "store_unavailable"})
                if not keeper.alive:
                    raise
                time.sleep(_ASK_AGAIN_S)


_WORDS = {
    Ending.RECORDED: "succeeded",
    Ending.RETRY: "another attempt will be made after the backoff",
    Ending.HELD: "HELD for its reviewer (duly holds)",
    Ending.RELEASED: "handed back",
    Ending.LATE: "its lease was over; the result is kept as evidence only",
    Ending.LOST: "its lease had passed on or ended",
}


def in_words(ending: Ending) -> str:
    """What became of an attempt, for the log."""
    return _WORDS.get(ending, ending.value)


class ArgumentsDoNotFit(TypeError):
    """The schedule's args and kwargs cannot be passed to the task; the message names parameters, never values."""


def _call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise ArgumentsDoNotFit(str(error)) from None
    result = function(*args, **kwargs)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def _log_failure(lease: Lease, error: Exception) -> None:
    """Where it failed, not what was said: an exception's text may hold payloads and secrets."""
    said = f": {error}" if isinstance(error, ArgumentsDoNotFit) else ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    where = "".join(f"\n{line.rstrip()}" for line in traceback.format_list(frames))
    name = type(error).__name__
    log.error(
        "%s attempt %d raised %s%s%s", lease.occurrence, lease.attempt, name, said, where, extra={"action": "failed"}
    )
