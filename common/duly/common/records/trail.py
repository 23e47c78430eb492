"""What is kept of the past: enqueue events (one for each tick), run history (one for each transition), and changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duly.common.instant import stored_ms, to_rfc3339
from duly.common.strict_json import read_kept

EVENT_LINE = (
    "tick_ms", "outcome", "reason", "job_id", "count", "first_tick_ms", "last_tick_ms", "first_recorded_ms",
    "recorded_ms",
)  # fmt: skip
"""The values of an enqueue event's line, as `lua/lib/audit.lua` writes it."""
RUN_LINE = ("event", "schedule_id", "tick_ms", "state", "attempt", "fencing_token", "at_ms", "reason", "worker")
"""The values of a line of run history, as `lua/lib/record.lua` writes it. The last may be any text of one line."""
_DECIDED = {"began", "held"}
_HANDED_BACK = {"NOT_DUE", "RETRY_NOT_YET_DUE"}


def fields_of(entry: Mapping[str, str], names: tuple[str, ...]) -> Mapping[str, str]:
    """The values of a stream's entry by name: those of its one line, between tabs.

    An entry that version 0.1 wrote has a field for each.
    """
    line = entry.get("line")
    return entry if line is None else dict(zip(names, line.split("\t", len(names) - 1), strict=True))


@dataclass(frozen=True, slots=True)
class EnqueueEvent:
    """What became of one tick, or of a run of ticks that policy dropped together. Instants in epoch milliseconds."""

    cursor: str
    tick_ms: int
    outcome: str
    reason: str
    job_id: str | None
    count: int
    """Ticks in a `backlog_dropped` record; repetitions in a `failed` one."""
    first_tick_ms: int
    last_tick_ms: int
    recorded_ms: int

    @classmethod
    def from_entry(cls, cursor: str, entry: Mapping[str, str]) -> EnqueueEvent:
        """Read a stream's entry; raises KeyError or ValueError when it is none that the scripts wrote."""
        fields = fields_of(entry, EVENT_LINE)
        return cls(
            cursor=cursor,
            tick_ms=stored_ms(fields["tick_ms"]),
            outcome=fields["outcome"],
            reason=fields["reason"],
            job_id=fields["job_id"] or None,
            count=int(fields["count"]),
            first_tick_ms=stored_ms(fields["first_tick_ms"]),
            last_tick_ms=stored_ms(fields["last_tick_ms"]),
            recorded_ms=stored_ms(fields["recorded_ms"]),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "tick_ms": self.tick_ms,
            "tick_at": to_rfc3339(self.tick_ms),
            "outcome": self.outcome,
            "reason": self.reason,
            "job_id": self.job_id,
            "count": self.count,
            "first_tick_ms": self.first_tick_ms,
            "last_tick_ms": self.last_tick_ms,
            "recorded_at": to_rfc3339(self.recorded_ms),
        }


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One transition of one occurrence. Instants in epoch milliseconds."""

    cursor: str
    event: str
    schedule_id: str
    tick_ms: int
    state: str
    attempt: int
    worker: str | None
    fencing_token: int | None
    reason: str | None
    at_ms: int

    @property
    def decision(self) -> str | None:
        """The contract's decision behind the transition, where there is one."""
        return self.reason if self.event in _DECIDED or self.reason in _HANDED_BACK else None

    @classmethod
    def from_entry(cls, cursor: str, entry: Mapping[str, str]) -> RunEvent:
        """Read a stream's entry; raises as `EnqueueEvent.from_entry` does."""
        fields = fields_of(entry, RUN_LINE)
        return cls(
            cursor=cursor,
            event=fields["event"],
            schedule_id=fields["schedule_id"],
            tick_ms=stored_ms(fields["tick_ms"]),
            state=fields["state"],
            attempt=int(fields["attempt"]),
            worker=fields["worker"] or None,
            fencing_token=int(fields["fencing_token"]) if fields["fencing_token"] else None,
            reason=fields["reason"] or None,
            at_ms=stored_ms(fields["at_ms"]),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "schedule_id": self.schedule_id,
            "tick_ms": self.tick_ms,
            "tick_at": to_rfc3339(self.tick_ms),
            "state": self.state,
            "attempt": self.attempt,
            "worker": self.worker,
            "fencing_token": self.fencing_token,
            "reason": self.reason,
            "decision": self.decision,
            "at": to_rfc3339(self.at_ms),
            "at_ms": self.at_ms,
        }


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """One change that somebody made to a schedule, or decided about one of its occurrences."""

    cursor: str
    what: str
    """`created`, `updated`, `paused`, `resumed`, `deleted`, `released`, `run`, `approved` or `resolved`."""
    actor: str
    """Who asked, and by what: `cli ann@host`, `api`, `console`, `sweep` for a pause that ended by itself."""
    revision: int | None
    """The schedule's revision after the change; None when it is gone."""
    detail: dict[str, Any]
    """What belongs to it; for `updated` the fields with their values before and after, arguments by name only."""
    at_ms: int

    @classmethod
    def from_entry(cls, cursor: str, fields: Mapping[str, str]) -> ChangeEvent:
        """Read a stream's entry; raises as `EnqueueEvent.from_entry` does."""
        return cls(
            cursor=cursor,
            what=fields["what"],
            actor=fields["actor"],
            revision=int(fields["revision"]) if fields["revision"] else None,
            detail=_detail(fields["detail"]),
            at_ms=stored_ms(fields["at_ms"]),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "actor": self.actor,
            "revision": self.revision,
            "detail": self.detail,
            "at": to_rfc3339(self.at_ms),
            "at_ms": self.at_ms,
        }


def _detail(text: str) -> dict[str, Any]:
    detail = read_kept(text)
    fields = detail.get("fields", {})
    if not isinstance(fields, dict) or not all(each is None or _is_pair(each) for each in fields.values()):
        raise ValueError("no fields with their values before and after")
    return detail


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2
