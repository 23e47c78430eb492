"""What the work may know of the attempt it is part of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

from duly.common.errors import DulyError
from duly.common.instant import to_datetime
from duly.common.store.attempts import Lease
from duly.worker.lease_keeper import Renewals

MAX_RESULT_REF = 1024


class LeaseLost(DulyError):
    """The lease of this attempt can no longer be proven: stop, and have no further effect."""

    code = "lease_lost"


class OutcomeUnknown(DulyError):
    """Raised by a task that cannot tell whether its effect happened; what follows depends on its `effects`."""

    code = "outcome_unknown"


@dataclass(slots=True)
class Run:
    """One attempt, as its work sees it."""

    schedule_id: str
    tick_ms: int
    attempt: int
    idempotency_key: str
    """The same for every attempt at this occurrence: give it to whatever receives the effect."""
    fencing_token: int
    """Grows with every lease of the fleet: a receiver that refuses smaller ones is safe from late owners."""
    deadline: datetime
    """When the time-out ends the attempt (aware, UTC)."""
    _lease: Lease = field(repr=False)
    _attempts: Renewals = field(repr=False)
    _result_ref: str = field(default="", repr=False)

    @property
    def tick(self) -> datetime:
        """The nominal instant of the occurrence (aware, UTC)."""
        return to_datetime(self.tick_ms)

    def set_result_ref(self, reference: str) -> None:
        """Say where the result is (a URL, a path, an id): at most 1024 printable characters, kept as evidence."""
        if not isinstance(reference, str) or len(reference) > MAX_RESULT_REF or not reference.isprintable():
            raise ValueError(f"a result reference is at most {MAX_RESULT_REF} printable characters")
        self._result_ref = reference

    @property
    def result_ref(self) -> str:
        return self._result_ref

    def check_lease(self) -> None:
        """Ask the store, right before an effect, whether the lease still holds; raises LeaseLost when it does not.

        StoreUnavailable means that nothing is known: have no effect then either. A process that the task has forked
        always gets that: its lease is for the process to ask for that the task was started in.
        """
        if not self._attempts.renew(self._lease):
            raise LeaseLost(f"{self._lease.occurrence} is no longer this worker's")


_current: ContextVar[Run | None] = ContextVar("duly_current_run", default=None)


def current_run() -> Run:
    """The attempt this code runs in; raises LookupError outside of one."""
    run = _current.get()
    if run is None:
        raise LookupError("current_run() is known only inside a task that a duly worker runs")
    return run


@contextmanager
def as_current(run: Run) -> Iterator[Run]:
    """Make ``run`` the current one inside the block."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


def run_of(lease: Lease, idempotency_key: str, timeout_ms: int, attempts: Renewals) -> Run:
    """The run for a lease just granted."""
    return Run(
        schedule_id=lease.occurrence.schedule_id,
        tick_ms=lease.occurrence.tick_ms,
        attempt=lease.attempt,
        idempotency_key=idempotency_key,
        fencing_token=lease.fencing_token,
        deadline=to_datetime(lease.now_ms + timeout_ms),
        _lease=lease,
        _attempts=attempts,
    )
