"""The life of one attempt in the store: claimed, begun, renewed, and ended with a result, a failure or neither.

Every method is one atomic script and is safe to ask again with the same token. Expected refusals are words, not
exceptions; StoreUnavailable means that nothing is known, and the caller must treat the lease as not its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.errors import OccurrenceNotFound
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.occurrence import Effects, OccurrenceRecord
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys
from duly.common.store.scripts import Scripts, Value


class Claim(StrEnum):
    """The answer to a worker that asks for an occurrence; each word is explained in `lua/acquire.lua`."""

    ACQUIRED = "acquired"
    OWNED = "owned"
    WAITING = "waiting"
    NOT_DUE = "not_due"
    SUPERSEDED = "superseded"
    HELD = "held"
    COALESCED = "coalesced"
    CANCELLED = "cancelled"
    FINISHED = "finished"
    MISSING = "missing"


class Ending(StrEnum):
    """What became of an attempt's report."""

    RECORDED = "recorded"
    RETRY = "retry"
    HELD = "held"
    RELEASED = "released"
    LATE = "late"
    """The lease could not be proven: the report was kept as evidence and changed nothing."""
    LOST = "lost"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to make one attempt. ``now_ms`` is the store's clock when it was granted."""

    occurrence: Occurrence
    token: str
    owner: str
    fencing_token: int
    attempt: int
    now_ms: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class Grant:
    """A claim's answer; ``lease``, ``record`` and ``definition`` come with ACQUIRED only.

    ``newer_tick_ms`` comes with COALESCED: the tick that took this one's place, when it is enqueued already.
    """

    claim: Claim
    lease: Lease | None = None
    record: OccurrenceRecord | None = None
    definition: ScheduleDefinition | None = None
    newer_tick_ms: int | None = None


class AttemptStore:
    """Occurrences as workers see them."""

    def __init__(self, client: Client, keys: Keys, scripts: Scripts) -> None:
        self._client = client
        self._keys = keys
        self._scripts = scripts

    def get(self, occurrence: Occurrence) -> OccurrenceRecord:
        """The occurrence's record; raises OccurrenceNotFound."""
        record = self.find(occurrence)
        if record is None:
            raise OccurrenceNotFound(occurrence.schedule_id, occurrence.tick_ms)
        return record

    def find(self, occurrence: Occurrence) -> OccurrenceRecord | None:
        """The occurrence's record, or None when there is none."""
        check_schedule_id(occurrence.schedule_id)
        with translated():
            fields = self._client.hgetall(self._keys.occurrence(occurrence))
        return OccurrenceRecord.from_hash(occurrence, fields) if fields else None

    def acquire(self, occurrence: Occurrence, attempt: int, token: str, owner: str) -> Grant:
        """Claim the occurrence for attempt number ``attempt``; see `Claim` for the answers."""
        reply = self._call("acquire", occurrence, token=token, owner=owner, attempt=attempt)
        claim = Claim(reply[0])
        if claim is Claim.COALESCED:
            return Grant(claim, newer_tick_ms=int(reply[1]) if reply[1] else None)
        if claim is not Claim.ACQUIRED:
            return Grant(claim)
        _, now_ms, definition, flat = reply
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        record = OccurrenceRecord.from_hash(occurrence, fields)
        assert record.fencing_token is not None
        lease = Lease(
            occurrence,
            token,
            owner,
            record.fencing_token,
            record.attempt,
            int(now_ms),
            int(fields["lease_ttl_ms"]),
        )
        return Grant(claim, lease, record, ScheduleDefinition.from_json(definition or ""))

    def begin(self, lease: Lease, effects: Effects) -> bool:
        """The point of no return; False when the lease is no longer this holder's."""
        reply = self._call("begin", lease.occurrence, token=lease.token, effects=effects.value)
        return bool(reply[0] == "begun")

    def renew(self, lease: Lease) -> bool:
        """Extend the lease to its full time to live from now; False when it is no longer this holder's."""
        reply = self._call("renew", lease.occurrence, token=lease.token, ttl_ms=lease.ttl_ms)
        return bool(reply[0] == "renewed")

    def complete(self, lease: Lease, result_ref: str) -> Ending:
        """Record success: RECORDED, LATE without a proven lease, or HELD beside another owner's late result."""
        return self._end(
            "complete",
            lease.occurrence,
            token=lease.token,
            fencing_token=lease.fencing_token,
            result_ref=result_ref,
        )

    def fail(self, lease: Lease, error: str) -> Ending:
        """Record that the work failed and left no result: RETRY, HELD when the budget is spent, or LATE.

        ``error`` is a low-cardinality name such as the exception's class, never its text.
        """
        return self._end("fail", lease.occurrence, token=lease.token, error=error)

    def relinquish(self, lease: Lease, reason: str) -> Ending:
        """Give the occurrence up without an outcome: RELEASED before `begin`, RETRY or HELD after it."""
        return self._end("relinquish", lease.occurrence, token=lease.token, reason=reason)

    def report_death(self, schedule_id: str, owner: str, reason: str) -> Ending:
        """The same for an owner whose process the caller has seen end; LOST when it owned nothing."""
        with translated():
            reply = self._scripts.call("report_death", schedule_id=schedule_id, owner=owner, reason=reason)
        return Ending(reply[0])

    def refuse(self, occurrence: Occurrence, reason: str) -> None:
        """Record that this worker cannot run the task; the occurrence stays PENDING and is delivered again."""
        self._call("refuse", occurrence, reason=reason)

    def hold(self, lease: Lease, reason: str) -> Ending:
        """The attempt must not begin, and a reviewer must say why it may: HELD, or LOST."""
        return self._end("hold", lease.occurrence, token=lease.token, reason=reason)

    def commit_by_probe(self, lease: Lease, evidence: str) -> Ending:
        """The probe says that an earlier attempt's effect is there: RECORDED as a success, or LOST."""
        return self._end("commit_by_probe", lease.occurrence, token=lease.token, result_ref=evidence)

    def _end(self, name: str, occurrence: Occurrence, **arguments: Value) -> Ending:
        return Ending(self._call(name, occurrence, **arguments)[0])

    def _call(self, name: str, occurrence: Occurrence, **arguments: Value) -> list[Any]:
        with translated():
            return self._scripts.call(name, schedule_id=occurrence.schedule_id, tick_ms=occurrence.tick_ms, **arguments)
