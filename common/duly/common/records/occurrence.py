"""An occurrence as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.errors import InvalidField
from duly.common.identity import Occurrence
from duly.common.instant import stored_ms, to_rfc3339
from duly.common.records.evidence import RecordedDecision, decisions_of


class OccurrenceState(StrEnum):
    """The life of an occurrence; the transitions are the scripts in `store/lua`."""

    PENDING = "PENDING"
    LEASED = "LEASED"
    RUNNING = "RUNNING"
    RETRY_WAIT = "RETRY_WAIT"
    HELD = "HELD"
    SUCCEEDED = "SUCCEEDED"
    COALESCED = "COALESCED"
    CANCELLED = "CANCELLED"
    ABANDONED = "ABANDONED"

    @property
    def terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = {
    OccurrenceState.SUCCEEDED,
    OccurrenceState.COALESCED,
    OccurrenceState.CANCELLED,
    OccurrenceState.ABANDONED,
}


class Effects(StrEnum):
    """What a task's effect allows after an unknown outcome."""

    IDEMPOTENT = "idempotent"
    """May be repeated inside the retry budget."""
    GUARDED = "guarded"
    """May be repeated when its probe says that nothing was committed."""
    UNSAFE = "unsafe"
    """Is held for the reviewer. The default."""


@dataclass(frozen=True, slots=True)
class OccurrenceRecord:
    """One occurrence at one instant. Instants are epoch milliseconds; None where there is none."""

    occurrence: Occurrence
    state: OccurrenceState
    kind: str
    """`scheduled`, or `manual` for an extra run."""
    task: str
    queue: str
    attempt: int
    """Attempts made so far; the one that is leased or running is counted."""
    retry_budget: int
    idempotency_key: str
    review_owner: str
    job_id: str
    enqueued_ms: int
    lease_id: str | None
    lease_owner: str | None
    lease_expires_ms: int | None
    fencing_token: int | None
    began_ms: int | None
    ended_ms: int | None
    not_before_ms: int | None
    held_ms: int | None
    hold_reason: str | None
    reason: str | None
    result_ref: str | None
    last_error: str | None
    """The type of the exception that the latest failed attempt raised; what it said is never kept."""
    last_error_attempt: int | None
    last_error_ms: int | None
    last_error_by: str | None
    """The owner whose log says where it was raised."""
    cause: str | None
    """What ended the latest attempt without an outcome, or kept the probe from an answer; never an error's text."""
    prior_outcome: str
    effects: str | None
    resolution: dict[str, Any] | None
    late_results: dict[str, str]
    """By fencing token: results that arrived without a proven, undisputed lease. Evidence, never success."""
    claims: dict[str, str]
    """By lease: owners who came with a lease that the record does not know, while it was not over."""
    approval: str
    """`required` when the reviewer must approve the run, else `automatic`."""
    approved_by: str | None
    version: int
    """Counts the changes of the record: a hold is resolved at the version that its reviewer looked at."""
    incarnation: str | None
    """Which schedule of its id it belongs to: one that is deleted and written anew is another."""
    decisions: tuple[RecordedDecision, ...]
    """What the contract decided of its attempts, the oldest first."""

    @property
    def awaits_approval(self) -> bool:
        """Whether nothing but its reviewer's approval keeps it from being delivered."""
        return self.state is OccurrenceState.PENDING and self.approval == "required" and self.approved_by is None

    @property
    def waits_because(self) -> str | None:
        """The code of what a reviewer is to do about it; None when nothing is."""
        return "approval_required" if self.awaits_approval else self.hold_reason

    @classmethod
    def from_hash(cls, occurrence: Occurrence, fields: Mapping[str, str]) -> OccurrenceRecord:
        """Read the store's hash; raises InvalidField when it is not one that the scripts wrote."""
        try:
            return cls._read(occurrence, fields)
        except (KeyError, ValueError, TypeError) as error:
            raise InvalidField(str(occurrence), "is stored in a form that cannot be used") from error

    @classmethod
    def _read(cls, occurrence: Occurrence, fields: Mapping[str, str]) -> OccurrenceRecord:
        def number(name: str) -> int | None:
            return int(fields[name]) if fields.get(name) else None

        def instant(name: str) -> int | None:
            return stored_ms(fields[name]) if fields.get(name) else None

        held = fields["state"] == OccurrenceState.HELD
        return cls(
            occurrence=occurrence,
            state=OccurrenceState(fields["state"]),
            kind=fields["kind"],
            task=fields["task"],
            queue=fields["queue"],
            attempt=int(fields["attempt"]),
            retry_budget=number("retry_budget") or 0,
            idempotency_key=fields.get("idempotency_key", ""),
            review_owner=fields.get("review_owner", ""),
            job_id=fields["job_id"],
            enqueued_ms=stored_ms(fields["enqueued_ms"]),
            lease_id=fields.get("lease_id"),
            lease_owner=fields.get("lease_owner"),
            lease_expires_ms=instant("lease_expires_ms"),
            fencing_token=number("fencing_token"),
            began_ms=instant("began_ms"),
            ended_ms=instant("ended_ms"),
            not_before_ms=instant("not_before_ms"),
            held_ms=instant("held_ms") if held else None,
            hold_reason=fields.get("hold_reason") if held else None,
            reason=fields.get("reason") or None,
            result_ref=fields.get("result_ref") or None,
            last_error=fields.get("last_error"),
            last_error_attempt=number("last_error_attempt"),
            last_error_ms=instant("last_error_ms"),
            last_error_by=fields.get("last_error_by") or None,
            cause=fields.get("cause") or None,
            prior_outcome=fields.get("prior_outcome", "NONE"),
            effects=fields.get("effects"),
            resolution=_resolution(fields),
            late_results={
                name.partition(":")[2]: value for name, value in fields.items() if name.startswith("late_result:")
            },
            claims={
                name.partition(":")[2]: value.partition(" ")[2]
                for name, value in fields.items()
                if name.startswith("claim:")
            },
            approval=fields.get("approval", "automatic"),
            approved_by=fields.get("approved_by"),
            version=number("version") or 0,
            incarnation=fields.get("incarnation"),
            decisions=decisions_of(occurrence, fields),
        )

    def to_dict(self) -> dict[str, Any]:
        """As `--json` and the API print it: every instant both in milliseconds and, as ``..._at``, in RFC 3339."""
        shown: dict[str, Any] = {
            "schedule_id": self.occurrence.schedule_id,
            "tick_ms": self.occurrence.tick_ms,
            "tick_at": to_rfc3339(self.occurrence.tick_ms),
        }
        for name in self.__slots__:
            if name in {"occurrence", "incarnation", "decisions"}:
                continue
            value = getattr(self, name)
            shown[name] = value
            if name.endswith("_ms"):
                shown[f"{name.removesuffix('_ms')}_at"] = None if value is None else to_rfc3339(value)
        return shown


def _resolution(fields: Mapping[str, str]) -> dict[str, Any] | None:
    if "resolution" not in fields:
        return None
    return {
        "outcome": fields["resolution"],
        "by": fields["resolved_by"],
        "evidence": fields["resolution_evidence"],
        "extra_attempts": int(fields.get("extra_attempts") or 0),
        "resolved_at": to_rfc3339(stored_ms(fields["resolved_ms"])),
    }
