"""The life of one attempt in the store: claimed, begun, renewed, and ended with a result, a failure or neither.

Every method is one atomic script and is safe to ask again with the same token. Expected refusals are words, not
exceptions; StoreUnavailable means that nothing is known, and the caller must treat the lease as not its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.errors import InvalidField, OccurrenceNotFound
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.records.evidence import Decision, Evidence, Reconciled
from duly.common.records.occurrence import Effects, OccurrenceRecord
from duly.common.records.work import Work
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys
from duly.common.store.scripts import Scripts, Value


class Claim(StrEnum):
    """The answer to a worker that asks for an occurrence."""

    ACQUIRED = "acquired"
    """The lease is granted, with the evidence to decide from."""
    OWNED = "owned"
    """It is leased or running under another lease."""
    WAITING = "waiting"
    """Its approval, an open hold or another run of its schedule stands before it; it is delivered again later."""
    NOT_DUE = "not_due"
    """It waits for the backoff after its last attempt to end."""
    SUPERSEDED = "superseded"
    """The job that was taken is not of its next attempt."""
    HELD = "held"
    """It is held for its reviewer, perhaps since this very claim."""
    COALESCED = "coalesced"
    """It gave way to a newer tick, perhaps at this very claim, and never runs."""
    CANCELLED = "cancelled"
    """This claim ended it, since it was found too late or its schedule was deleted; it never runs."""
    FINISHED = "finished"
    """It is over."""
    MISSING = "missing"
    """There is no record of it."""


class Ending(StrEnum):
    """What became of an attempt's report."""

    RECORDED = "recorded"
    """The success is on record."""
    RETRY = "retry"
    """Another attempt follows when its backoff has ended."""
    HELD = "held"
    """It is held for its reviewer: its outcome is not known, its budget is spent, or two owners claim it."""
    RELEASED = "released"
    """The work had not begun: it is pending again."""
    LATE = "late"
    """The lease could not be proven: the report was kept as evidence, and is never a success."""
    LOST = "lost"
    """Nothing of it belongs to this owner any more, and nothing was changed."""
    MISSING = "missing"
    """There is no record of it."""


@dataclass(slots=True)
class Lease:
    """The right to make one attempt. ``now_ms`` is the store's clock when it was granted."""

    occurrence: Occurrence
    token: str
    owner: str
    fencing_token: int
    attempt: int
    now_ms: int
    ttl_ms: int
    expires_ms: int
    """When it ends, by the store's last word: moved by every renewal, and shown with every later claim to it."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A claim's answer; ``lease``, ``work`` and ``evidence`` come with ACQUIRED only, ``work`` where it can be read.

    ``newer_tick_ms`` comes with COALESCED: the tick that took this one's place, when it is enqueued already.
    """

    claim: Claim
    lease: Lease | None = None
    work: Work | None = None
    evidence: Evidence | None = None
    newer_tick_ms: int | None = None

    @property
    def idempotency_key(self) -> str:
        """The occurrence's; empty where the evidence has none, and then nothing begins."""
        return str(self.evidence.fields.get("idempotency_key", "")) if self.evidence else ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the contract decided, and from what: the evidence, and what settled an unknown outcome in it."""

    decision: Decision
    evidence: Evidence
    reconciled: Reconciled = Reconciled.BY_NOTHING


class Carried(StrEnum):
    """What became of a decision that its worker asked the store to carry out."""

    BEGUN = "begun"
    """The attempt has begun: its work may run."""
    HELD = "held"
    """It is held for its reviewer."""
    COALESCED = "coalesced"
    """It gave way to a later tick, and never runs."""
    RELEASED = "released"
    """There is nothing to run now, or nobody to run it: it is pending again, and the attempt does not count."""
    CHANGED = "changed"
    """The evidence is not what it was: decide again from the new one."""
    LOST = "lost"
    """The lease could not be proven, and nothing was changed."""


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """``evidence`` comes with CHANGED only."""

    word: Carried
    evidence: Evidence | None = None


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
        return grant_from(reply, occurrence, token, owner)

    def evidence(self, occurrence: Occurrence) -> Evidence:
        """The evidence about an occurrence as it stands now; raises OccurrenceNotFound."""
        reply = self._call("evidence", occurrence)
        if reply[0] == "missing":
            raise OccurrenceNotFound(occurrence.schedule_id, occurrence.tick_ms)
        return Evidence.from_text(occurrence, reply[1])

    def begin(self, lease: Lease, effects: Effects, judgement: Judgement) -> CarriedOut:
        """The point of no return: BEGUN, CHANGED, or LOST when the lease is no longer this holder's."""
        return self._carry_out("begin", lease, judgement, effects=effects.value)

    def hold(self, lease: Lease, judgement: Judgement, cause: str = "") -> CarriedOut:
        """The attempt must not begin until a reviewer says why it may: HELD, CHANGED or LOST.

        ``cause``: what a probe had to say, where it was asked; of low cardinality, never an error's text.
        """
        return self._carry_out("hold", lease, judgement, cause=cause)

    def hand_back(self, lease: Lease, judgement: Judgement, not_before_ms: int) -> CarriedOut:
        """Nothing is to run now, or nobody can run it: COALESCED, RELEASED until ``not_before_ms``, CHANGED or LOST.

        What is released counts no attempt.
        """
        return self._carry_out("hand_back", lease, judgement, not_before_ms=not_before_ms)

    def _carry_out(self, name: str, lease: Lease, judgement: Judgement, **arguments: Value) -> CarriedOut:
        reply = self._call(
            name,
            lease.occurrence,
            token=lease.token,
            decision=judgement.decision.value,
            reconciled=judgement.reconciled.value,
            evidence=judgement.evidence.text,
            **arguments,
        )
        word = Carried(reply[0])
        if word is Carried.CHANGED:
            return CarriedOut(word, Evidence.from_text(lease.occurrence, reply[1]))
        return CarriedOut(word)

    def renew(self, lease: Lease) -> bool:
        """Extend the lease to its full time to live from now; False when it is no longer this holder's."""
        reply = self._call(
            "renew",
            lease.occurrence,
            token=lease.token,
            ttl_ms=lease.ttl_ms,
            owner=lease.owner,
            expires_ms=lease.expires_ms,
        )
        if reply[0] != "renewed":
            return False
        lease.expires_ms = int(reply[1])
        return True

    def complete(self, lease: Lease, result_ref: str) -> Ending:
        """Record success: RECORDED, LATE without a proven lease, or HELD beside another owner's late result."""
        return self._end(
            "complete",
            lease.occurrence,
            token=lease.token,
            fencing_token=lease.fencing_token,
            result_ref=result_ref,
            owner=lease.owner,
            expires_ms=lease.expires_ms,
        )

    def fail(self, lease: Lease, error: str) -> Ending:
        """Record that the work failed and left no result: RETRY, HELD when the budget is spent, or LATE.

        ``error`` is a low-cardinality name such as the exception's class, never its text.
        """
        return self._end("fail", lease.occurrence, token=lease.token, error=error)

    def relinquish(self, lease: Lease, reason: str) -> Ending:
        """Give the occurrence up without an outcome: RELEASED before `begin`, RETRY or HELD after it."""
        return self._end(
            "relinquish",
            lease.occurrence,
            token=lease.token,
            reason=reason,
            owner=lease.owner,
            expires_ms=lease.expires_ms,
        )

    def report_death(self, schedule_id: str, owner: str, reason: str) -> Ending:
        """The same for an owner whose process the caller has seen end; LOST when it owned nothing."""
        with translated():
            reply = self._scripts.call("report_death", schedule_id=schedule_id, owner=owner, reason=reason)
        return Ending(reply[0])

    def refuse(self, occurrence: Occurrence, reason: str) -> None:
        """Record that this worker cannot run the task; the occurrence stays PENDING and is delivered again."""
        self._call("refuse", occurrence, reason=reason)

    def commit_by_probe(self, lease: Lease, evidence: str) -> Ending:
        """The probe says that an earlier attempt's effect is there: RECORDED as a success, or LOST."""
        return self._end("commit_by_probe", lease.occurrence, token=lease.token, result_ref=evidence)

    def _end(self, name: str, occurrence: Occurrence, **arguments: Value) -> Ending:
        return Ending(self._call(name, occurrence, **arguments)[0])

    def _call(self, name: str, occurrence: Occurrence, **arguments: Value) -> list[Any]:
        with translated():
            return self._scripts.call(name, schedule_id=occurrence.schedule_id, tick_ms=occurrence.tick_ms, **arguments)


def grant_from(reply: list[Any], occurrence: Occurrence, token: str, owner: str) -> Grant:
    """The answer to a claim, as the scripts give it."""
    claim = Claim(reply[0])
    if claim is Claim.COALESCED:
        return Grant(claim, newer_tick_ms=int(reply[1]) if reply[1] else None)
    if claim is not Claim.ACQUIRED:
        return Grant(claim)
    _, now_ms, definition, evidence, *of_lease = reply
    fencing_token, attempt, ttl_ms, expires_ms = map(int, of_lease)
    lease = Lease(occurrence, token, owner, fencing_token, attempt, int(now_ms), ttl_ms, expires_ms)
    return Grant(claim, lease, _work(definition), Evidence.from_text(occurrence, evidence))


def _work(definition: str) -> Work | None:
    try:
        return Work.from_definition(definition)
    except InvalidField:
        return None
