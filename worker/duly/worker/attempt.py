"""One attempt at one occurrence: acquire, decide, begin, run, record.

An `Attempter` does all of it in one process, a work-horse that RQ forked. A worker's rounds do it by a `Rider`, which
leaves the task to the worker's own work-horse and its success to the next turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence, new_token
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
from duly.worker.lease_keeper import Keeper, LeaseKeeper
from duly.worker.performing import Kind, Outcome, perform
from duly.worker.probe import COMMITTED, Probed, ask_probe
from duly.worker.run import run_of
from duly.worker.tasks import Task, find_task

log = logging.getLogger(__name__)

MOST_LOOKS = 100
"""How often evidence that changes under its reader is decided anew before the occurrence is handed back."""
_ASK_AGAIN_S = 0.2
_Answer = TypeVar("_Answer")


class Attempter:
    """Makes attempts for one owner. A death of the process that runs the task is reported by ``owner``."""

    def __init__(
        self,
        store: Store,
        owner: str,
        clock: Clock | None = None,
        keeper: Callable[[AttemptStore, Lease, float, Clock], Keeper] = LeaseKeeper,
    ) -> None:
        self._attempts = store.attempts
        self._owner = owner
        self._clock = clock or SystemClock()
        self._keeper = keeper

    def attempt(self, occurrence: Occurrence, attempt: int) -> str:
        """Make attempt number ``attempt``; one word says what became of it, for the log and RQ's record.

        Never raises what the task raised. StoreUnavailable is raised when the store could not be asked before
        the lease was granted; afterwards the outcome is asked to be recorded until the lease ends, and it is
        raised only then.
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
        return self.take(task, occurrence, grant, asked_ms)

    def take(self, task: Task | None, occurrence: Occurrence, grant: Grant, asked_ms: float) -> str:
        """Go on from the answer to a claim that was asked for at ``asked_ms``, by the local clock."""
        if grant.claim is Claim.COALESCED and grant.newer_tick_ms not in {None, occurrence.tick_ms}:
            # The newer tick takes the older one's place in the queue, or a busy queue would coalesce for ever.
            return self.attempt(Occurrence(occurrence.schedule_id, int(grant.newer_tick_ms or 0)), 1)
        if grant.lease is None:
            return grant.claim.value
        with self._keeper(self._attempts, grant.lease, asked_ms, self._clock) as keeper:
            if grant.work is None or task is None:
                log.error("%s: its definition cannot be read", occurrence, extra={"action": "definition_unreadable"})
                given_up = partial(self._attempts.relinquish, grant.lease, "definition_unreadable")
                return self._record(keeper, grant.lease, given_up)
            return self._under_lease(task, grant, keeper)

    def _under_lease(self, task: Task, grant: Grant, keeper: Keeper) -> str:
        lease = grant.lease
        assert lease is not None
        evidence = grant.evidence
        probed: Probed | None = None
        for _ in range(MOST_LOOKS):
            assert evidence is not None
            if probed is None and gate.needs_probe(evidence, task.effects):
                probed = self._probe(task, grant, keeper)
                if probed.answer == COMMITTED:
                    committed = partial(self._attempts.commit_by_probe, lease, "probe: COMMITTED")
                    return self._record(keeper, lease, committed)
            judgement = gate.judge(evidence, task.effects, probed.answer if probed else None)
            carried = self._carry_out(task, lease, judgement, probed.cause if probed else "", keeper)
            if carried.word is Carried.BEGUN:
                return self._run(task, grant, keeper)
            if carried.word is not Carried.CHANGED:
                return carried.word.value
            evidence = carried.evidence
        return self._record(keeper, lease, partial(self._attempts.relinquish, lease, "evidence_unsettled"))

    def _carry_out(self, task: Task, lease: Lease, judgement: Judgement, cause: str, keeper: Keeper) -> CarriedOut:
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

    def _run(self, task: Task, grant: Grant, keeper: Keeper) -> str:
        lease = grant.lease
        assert lease is not None
        outcome = self._perform(task, grant, keeper)
        if outcome.kind is Kind.SUCCEEDED:
            return self._succeed(keeper, lease, outcome.said)
        end = self._attempts.fail if outcome.kind is Kind.FAILED else self._attempts.relinquish
        return self._record(keeper, lease, partial(end, lease, outcome.said))

    def _perform(self, task: Task, grant: Grant, keeper: Keeper) -> Outcome:
        """Have the task run, here and now; whoever has another place for it says so by overriding this."""
        assert grant.lease is not None
        assert grant.work is not None
        assert isinstance(keeper, LeaseKeeper)
        work = grant.work
        run = run_of(grant.lease, grant.idempotency_key, work.timeout_ms, self._attempts)
        return perform(task.function, work.args, work.kwargs, run, work.timeout_ms, keeper)

    def _probe(self, task: Task, grant: Grant, keeper: Keeper) -> Probed:
        """Ask the task's probe, in the same place."""
        assert isinstance(keeper, LeaseKeeper)
        return ask_probe(task, grant.idempotency_key, keeper)

    def _succeed(self, keeper: Keeper, lease: Lease, result_ref: str) -> str:
        """Have the success recorded."""
        return self._record(keeper, lease, partial(self._attempts.complete, lease, result_ref))

    def _record(self, keeper: Keeper, lease: Lease, ending: Callable[[], Ending]) -> str:
        """Have the store record how the attempt ended, and say so; the store's word."""
        keeper.settle()
        result = self._until_known(keeper, ending)
        say_how_it_ended(lease, result)
        return result.value

    @staticmethod
    def _until_known(keeper: Keeper, ask: Callable[[], _Answer]) -> _Answer:
        """Ask until the store answers: every transition is safe to ask again. The lease's end ends the asking."""
        while True:
            try:
                return ask()
            except StoreUnavailable as error:
                if not keeper.alive:
                    raise
                ask_again_later(error)


def ask_again_later(error: StoreUnavailable) -> None:
    """Say what keeps the record from being made, and wait a moment."""
    log.warning("not recorded yet: %s", error, extra={"action": "store_unavailable"})
    time.sleep(_ASK_AGAIN_S)


def say_how_it_ended(lease: Lease, ending: Ending) -> None:
    """For the log."""
    level = logging.WARNING if ending is Ending.HELD else logging.INFO
    log.log(level, "%s attempt %d: %s", lease.occurrence, lease.attempt, in_words(ending), extra={"action": "ended"})


def report_death(attempts: AttemptStore, occurrence: Occurrence, owner: str, how: str) -> None:
    """Have the store record that the process of an attempt has ended, and say so. Raises nothing for an outage."""
    try:
        then = in_words(attempts.report_death(occurrence.schedule_id, owner, "worker_died"))
    except StoreUnavailable:
        then = "its lease will expire"
    said = "%s: the process that ran it died (%s): %s"
    log.warning(said, occurrence, how, then, extra={"action": "horse_died"})


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
