"""A worker's way from one job to the next: one script records the last success, takes the next job and claims it.

RQ's account of the job is kept by the same script, as RQ's own worker keeps it. Nothing else changes RQ's queues here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from duly.common.identity import Occurrence
from duly.common.store.attempts import Ending, Grant, Lease, grant_from
from duly.common.store.connection import translated
from duly.common.store.scripts import Scripts


class Met(StrEnum):
    """What a worker finds that asks for its next job; see `lua/turn.lua`."""

    TAKEN = "taken"
    """A job of ours; `grant` says what came of the claim."""
    REFUSED = "refused"
    """A job of ours, whose task this worker does not have: its occurrence waits for another one."""
    UNREADABLE = "unreadable"
    """A job of ours, whose occurrence is no record that could be claimed: something else has written over it."""
    FOREIGN = "foreign"
    """The next job is an ordinary one of RQ's, and is still in its queue."""
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Moment:
    """The worker's own clock, as RQ keeps it for people to read; nothing is decided by it."""

    seconds: float
    text: str

    @classmethod
    def of(cls, moment: datetime) -> Moment:
        """An instant in UTC, as `rq.utils.utcformat` writes it, at a tenth of its cost."""
        return cls(moment.timestamp(), f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z")


@dataclass(frozen=True, slots=True)
class Hand:
    """A job of RQ's that a worker has in hand. ``execution`` is RQ's name for it, and the token of its first claim."""

    job_id: str
    queue: str
    execution: str = ""


@dataclass(frozen=True, slots=True)
class Success:
    """An attempt that has ended well and is to be recorded."""

    lease: Lease
    result_ref: str


@dataclass(frozen=True, slots=True)
class Last:
    """What the worker did before: the job, and the success to record, where there is one.

    ``shown``: whether it took so long that the worker had to tell RQ's tools of it.
    """

    hand: Hand
    success: Success | None = None
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """``ending``: what became of the success. ``hand`` and ``occurrence`` come with a job of ours, ``grant`` with
    TAKEN."""

    met: Met
    ending: Ending | None
    hand: Hand | None = None
    occurrence: Occurrence | None = None
    attempt: int = 0
    grant: Grant | None = None


class TurnStore:
    """Turns of the workers of a fleet."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    @contextmanager
    def together(self) -> Iterator[None]:
        """Inside the block everything that this store's scripts are asked goes over one connection, by one thread."""
        with translated(), self._scripts.on_one_line():
            yield

    def turn(
        self,
        worker: str,
        moment: Moment,
        *,
        queues: Sequence[str],
        tasks: Sequence[str],
        token: str,
        owner: str,
        number: int,
        last: Last | None = None,
        given: Hand | None = None,
        meanwhile: Callable[[], object] | None = None,
    ) -> Turn:
        """End the last job and take the next from ``queues``, in their order, or ``given``, which is out of them.

        ``worker``: RQ's name of it. ``tasks``: what it can run. ``number``: from 1, larger with each turn of a worker;
        asked with the same one, because an answer was lost, it gives the same job. ``meanwhile`` is called while the
        store is at work.
        """
        hand, success = (last.hand, last.success) if last else (Hand("", ""), None)
        lease = success.lease if success else None
        with (
            translated(),
            self._scripts.started(
                "turn",
                queues,
                worker=worker,
                seconds=f"{moment.seconds:.6f}",
                text=moment.text,
                number=number,
                token=token,
                owner=owner,
                tasks=f" {' '.join(tasks)} ",
                given=given.job_id if given else "",
                given_queue=given.queue if given else "",
                last_job=hand.job_id,
                last_queue=hand.queue,
                last_execution=hand.execution,
                shown=int(last.shown) if last else 0,
                schedule_id=lease.occurrence.schedule_id if lease else "",
                tick_ms=lease.occurrence.tick_ms if lease else 0,
                last_token=lease.token if lease else "",
                fencing_token=lease.fencing_token if lease else 0,
                result_ref=success.result_ref if success else "",
                last_owner=lease.owner if lease else "",
                expires_ms=lease.expires_ms if lease else 0,
            ) as reply,
        ):
            if meanwhile is not None:
                meanwhile()
            answer = reply()
        return _turn(answer, token, owner)


def _turn(reply: list[Any], token: str, owner: str) -> Turn:
    met, ending = Met(reply[0]), Ending(reply[1]) if reply[1] else None
    if met in {Met.EMPTY, Met.FOREIGN}:
        return Turn(met, ending)
    job_id, queue, schedule_id, tick_ms, attempt = reply[2:7]
    occurrence = Occurrence(schedule_id, int(tick_ms))
    grant = grant_from(reply[7], occurrence, token, owner) if met is Met.TAKEN else None
    return Turn(met, ending, Hand(job_id, queue, token), occurrence, int(attempt), grant)
