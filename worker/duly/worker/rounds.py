"""The worker's rounds: from job to job of ours, one work-horse under all of them, for as long as there are any.

Who owns what. RQ owns the worker's life: its birth, its wait for jobs, signals, suspension, maintenance, its death, and
every job that is none of ours. While a round lasts the worker owns the lease and everything said to Redis; the
work-horse owns the task and the kernel's timer, and nothing else.

Where no work-horse can be had, no further job is taken; one that was taken before that showed is handed back.

What a crash leaves. Between taking a job and `begin`: a lease that nobody uses, which costs nothing but its time. From
`begin` to the next turn: an unknown outcome, unless the turn was asked for; asked again, it answers the same. When the
work-horse dies its worker says so at once, by the attempt's owner, whose name is never used twice. When the worker dies
the kernel ends the work-horse, the guard what that had started, and the lease expires.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rq.utils import now

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence, new_token
from duly.common.owners import owner_name
from duly.common.store import Store
from duly.common.store.attempts import Ending
from duly.common.store.turns import Hand, Last, Met, Moment, Turn
from duly.worker.attempt import ask_again_later, say_how_it_ended
from duly.worker.channel import ChannelBroken
from duly.worker.performing import Kind
from duly.worker.rider import Rider
from duly.worker.stable import HorseDied, NoHorse, Stable
from duly.worker.tasks import find_task, task_names

log = logging.getLogger(__name__)

LONGEST_ROUND_MS = 1_000.0
"""After this RQ has its say: is the worker suspended, stopped, due for maintenance?"""

_LEFT = {
    Met.REFUSED: ("task_not_registered", "its task is not registered here"),
    Met.UNREADABLE: ("unreadable", "its record cannot be read"),
}


class Employer(Protocol):
    """What a round needs of the worker that makes it."""

    def has_in_hand(self, hand: Hand) -> None:
        """A job was taken."""

    def looks_after(self, hand: Hand, occurrence: Occurrence, *, first: bool) -> None:
        """It has been running for a while; ``first``: nobody has looked before."""

    def has_lost(self, hand: Hand, occurrence: Occurrence, owner: str, why: str, status: int | None) -> None:
        """Its work-horse ended under it."""

    def has_done(self, hand: Hand, *, failed: bool) -> None:
        """It has ended; the next turn says so to RQ. ``failed``: its task ran, and did not succeed."""

    def has_succeeded(self) -> None:
        """The success of a job that was done was recorded."""

    @property
    def must_stop(self) -> bool:
        """Whether no further job is to be taken."""


@dataclass(slots=True)
class Rounds:
    """Made once for each worker. ``worker``: its name in RQ, which leases name their owner by, too."""

    store: Store
    stable: Stable
    employer: Employer
    worker: str
    pid: int
    queues: Callable[[], Sequence[str]]
    clock: Clock = field(default_factory=SystemClock)
    _turns: int = 0
    _tasks: list[str] = field(default_factory=list)

    def run(self, given: Hand | None = None) -> int:
        """Attempt the job in hand and those that follow it; how many were taken.

        0 means of a job in hand that it was left as it is: it is not written as our scripts write it, or its turn was
        overtaken by a later one of this worker. Raises StoreUnavailable when a turn failed.
        """
        self._tasks = task_names()
        with self.store.turns.together():
            return self._run(given)

    def _run(self, given: Hand | None) -> int:
        last: Last | None = None
        rider: Rider | None = None
        taken, ends_ms = 0, self.clock.monotonic_ms() + LONGEST_ROUND_MS
        hand = given
        while True:
            goes_on = not self.employer.must_stop and self.clock.monotonic_ms() < ends_ms and not self.stable.lacks()
            if hand is None and last is None and not goes_on:
                return taken
            self._turns += 1
            asked_ms, owner = self.clock.monotonic_ms(), self._owner()
            turn = self._turn(owner, last, hand, self.queues() if goes_on else None, rider)
            if turn.hand is None or turn.occurrence is None:
                return taken
            hand, taken = None, taken + 1
            last, rider = self._ride(turn, owner, asked_ms)

    def _owner(self) -> str:
        """Of one turn, and so of one attempt, and of no other: a death is reported by it."""
        return owner_name(self.worker, self.pid, self._turns)

    def _turn(
        self, owner: str, last: Last | None, given: Hand | None, queues: Sequence[str] | None, rider: Rider | None
    ) -> Turn:
        """``queues``: None when no further job is to be taken; otherwise a work-horse gets ready meanwhile."""
        token = new_token()
        while True:
            try:
                turn = self.store.turns.turn(
                    self.worker,
                    Moment.of(now()),
                    queues=queues or (),
                    tasks=self._tasks,
                    token=token,
                    owner=owner,
                    number=self._turns,
                    last=last,
                    given=given,
                    meanwhile=None if queues is None else self._get_ready,
                )
            except StoreUnavailable as error:
                if rider is None or rider.proven is None or not rider.proven.alive:
                    raise
                ask_again_later(error)
                continue
            if turn.ending is not None and last is not None and last.success is not None:
                say_how_it_ended(last.success.lease, turn.ending)
                if turn.ending is Ending.RECORDED:
                    self.employer.has_succeeded()
            return turn

    def _get_ready(self) -> None:
        with contextlib.suppress(NoHorse):  # the turn has its answer all the same, and before `begin` it shows
            self.stable.ready(sure=False)

    def _ride(self, turn: Turn, owner: str, asked_ms: float) -> tuple[Last | None, Rider | None]:
        hand, occurrence = turn.hand, turn.occurrence
        assert hand is not None
        assert occurrence is not None
        if turn.met in _LEFT:
            action, why = _LEFT[turn.met]
            log.warning("%s: %s", occurrence, why, extra={"action": action})
            return Last(hand), None
        assert turn.grant is not None
        self.employer.has_in_hand(hand)
        shown = False

        def look() -> None:
            nonlocal shown
            self.employer.looks_after(hand, occurrence, first=not shown)
            shown = True

        rider = Rider(self.store, self.stable, look, owner, self.clock)
        task = find_task(turn.grant.work.task) if turn.grant.work is not None else None
        try:
            word = rider.take(task, occurrence, turn.grant, asked_ms)
            if turn.grant.lease is None:
                log.info("%s not attempted: %s", occurrence, word, extra={"action": "not_attempted"})
        except StoreUnavailable as error:
            log.warning("%s not attempted: %s", occurrence, error, extra={"action": error.code})
        except BaseException as error:
            status = error.status if isinstance(error, HorseDied) else self.stable.kill()
            why = "" if isinstance(error, HorseDied | ChannelBroken) else f"the attempt ended by {type(error).__name__}"
            self.employer.has_lost(hand, occurrence, owner, why, status)
            if not isinstance(error, Exception):
                raise
            return None, None
        self.employer.has_done(hand, failed=rider.outcome in {Kind.FAILED, Kind.UNKNOWN})
        return Last(hand, rider.unrecorded, shown), rider
