"""Attempts whose tasks run in the worker's work-horse: the worker talks to the store, the work-horse to the task."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.store import Store
from duly.common.store.attempts import AttemptStore, CarriedOut, Grant, Judgement, Lease
from duly.common.store.turns import Success
from duly.worker.attempt import Attempter
from duly.worker.lease_keeper import Keeper, fence_margin_ms
from duly.worker.messages import outcome_in, probed_in, request
from duly.worker.performing import Kind, Outcome
from duly.worker.probe import Probed
from duly.worker.stable import NoHorse, Stable
from duly.worker.tasks import Task

log = logging.getLogger(__name__)


class LeaseInHand:
    """The lease as the worker sees it, which runs nothing itself: renewed when the work-horse asks."""

    def __init__(self, attempts: AttemptStore, lease: Lease, asked_ms: float, clock: Clock) -> None:
        """``asked_ms``: the local clock right before the lease was asked for."""
        self._attempts = attempts
        self._lease = lease
        self._clock = clock
        self.asked_ms = asked_ms

    def __enter__(self) -> LeaseInHand:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def alive(self) -> bool:
        """Whether the lease is still proven by the local clock."""
        return self._clock.monotonic_ms() < self._fence_ms()

    def ends_ms(self) -> float:
        """By when a work-horse whose lease is not renewed must have ended: half-way from its timer to the end."""
        return self._fence_ms() + fence_margin_ms(self._lease.ttl_ms) / 2

    def _fence_ms(self) -> float:
        return self.asked_ms + self._lease.ttl_ms - fence_margin_ms(self._lease.ttl_ms)

    def settle(self, settling: bool = True) -> None:
        """Nobody renews it while its outcome is recorded."""

    def renew(self) -> str:
        """Renew it for the work-horse: `renewed`, `lost`, or `unknown` when the store could not be asked."""
        asked_ms = self._clock.monotonic_ms()
        try:
            renewed = self._attempts.renew(self._lease)
        except StoreUnavailable:
            return "unknown"
        if renewed:
            self.asked_ms = asked_ms
        return "renewed" if renewed else "lost"


class Rider(Attempter):
    """Makes attempts on a work-horse. A success is left to be recorded with the next turn: see `unrecorded`."""

    def __init__(
        self, store: Store, stable: Stable, look: Callable[[], None], owner: str, clock: Clock | None = None
    ) -> None:
        """``look`` is called now and then while the task runs."""
        super().__init__(store, owner, clock or SystemClock(), LeaseInHand)
        self._stable = stable
        self._look = look
        self.outcome: Kind | None = None
        """What the task came to; None when it has not run, or nothing came back."""
        self.unrecorded: Success | None = None
        self.proven: Keeper | None = None
        """The lease of the unrecorded success: how long its recording may be asked for."""

    def _carry_out(self, task: Task, lease: Lease, judgement: Judgement, cause: str, keeper: Keeper) -> CarriedOut:
        if judgement.decision.runs:
            try:
                self._stable.ready()  # nothing begins that nobody is there to run
            except NoHorse as error:
                return self._leave_to_others(lease, judgement, keeper, error)
        return super()._carry_out(task, lease, judgement, cause, keeper)

    def _leave_to_others(self, lease: Lease, judgement: Judgement, keeper: Keeper, why: NoHorse) -> CarriedOut:
        """Hand back what may run and has not begun: the attempt is not counted."""
        said = "%s attempt %d handed back, and not counted: %s"
        log.warning(said, lease.occurrence, lease.attempt, why, extra={"action": "no_horse"})
        keeper.settle()
        return self._until_known(keeper, partial(self._attempts.hand_back, lease, judgement, lease.now_ms))

    def _under_lease(self, task: Task, grant: Grant, keeper: Keeper) -> str:
        try:
            return super()._under_lease(task, grant, keeper)
        except NoHorse as error:  # for the probe: what it is to settle is open, and no decision can be recorded
            lease = grant.lease
            assert lease is not None
            log.warning("%s: no probe asked: %s", lease.occurrence, error, extra={"action": "no_horse"})
            return self._record(keeper, lease, partial(self._attempts.relinquish, lease, "no_work_horse"))

    def _perform(self, task: Task, grant: Grant, keeper: Keeper) -> Outcome:
        work = grant.work
        assert work is not None
        more = {"args": work.args, "kwargs": work.kwargs, "timeout_ms": work.timeout_ms}
        outcome = outcome_in(self._ask("run", task, grant, keeper, **more))
        self.outcome = outcome.kind
        return outcome

    def _probe(self, task: Task, grant: Grant, keeper: Keeper) -> Probed:
        return probed_in(self._ask("probe", task, grant, keeper))

    def _ask(self, what: str, task: Task, grant: Grant, keeper: Keeper, **more: Any) -> dict[str, Any]:
        assert grant.lease is not None
        assert isinstance(keeper, LeaseInHand)
        message = request(task, grant.lease, grant.idempotency_key, keeper.asked_ms, do=what, **more)
        return self._stable.ask(message, keeper.renew, self._look, keeper.ends_ms)

    def _succeed(self, keeper: Keeper, lease: Lease, result_ref: str) -> str:
        self.unrecorded, self.proven = Success(lease, result_ref), keeper
        return ""
