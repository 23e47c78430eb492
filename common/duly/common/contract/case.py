"""The evidence about one occurrence, and what was observed beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Unreadable(Enum):
    """The type of `UNREADABLE`; an enum, so that `is UNREADABLE` narrows types."""

    UNREADABLE = "unreadable"


class ByExpression(Enum):
    """The type of `BY_EXPRESSION`."""

    BY_EXPRESSION = "by expression"


UNREADABLE: Final = Unreadable.UNREADABLE
"""In place of a field that is absent, null where null says nothing, or malformed."""
BY_EXPRESSION: Final = ByExpression.BY_EXPRESSION
"""In place of `later_tick` when nobody but the expression says which tick comes after the occurrence."""

CALENDAR: Final = "calendar"
INTERVAL: Final = "interval"

TIMETABLE: Final = "timetable"
MANUAL: Final = "manual"

SKIP: Final = "SKIP"
SINGLE: Final = "SINGLE_BOUNDED_CATCH_UP"
COALESCE: Final = "COALESCE_STALE_TICKS"
BACKFILL: Final = "BACKFILL_BOUNDED"
POLICIES: Final = (SKIP, SINGLE, COALESCE, BACKFILL)

NONE: Final = "NONE"
COMMITTED: Final = "COMMITTED"
NO_COMMITTED_RESULT: Final = "NO_COMMITTED_RESULT"
UNKNOWN: Final = "UNKNOWN"

PENDING: Final = "PENDING"
LEASED: Final = "LEASED"
RUNNING: Final = "RUNNING"
RETRY_WAIT: Final = "RETRY_WAIT"
HELD: Final = "HELD"
SUCCEEDED: Final = "SUCCEEDED"
RUN_STATES: Final = (
    PENDING,
    LEASED,
    RUNNING,
    RETRY_WAIT,
    HELD,
    SUCCEEDED,
    "COALESCED",
    "CANCELLED",
    "ABANDONED",
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease that was seen to claim the occurrence; it has expired from `expires_ms` on."""

    lease_id: str
    lease_owner: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class BackoffState:
    """How long the attempt before asked to wait, and until when."""

    delay_ms: int
    not_before_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One attribute for each field of a case file; instants and durations in milliseconds, instants since the epoch.

    Texts are kept as they were given: whether a word is known is for the gates to say. None stands where null means
    something: never ran, no lease, no backoff, no result.
    """

    job_id: str | Unreadable
    schedule_type: str | Unreadable
    schedule_expression: str | Unreadable
    timezone: str | Unreadable
    last_run_ms: int | Unreadable | None
    next_run_ms: int | Unreadable
    missed_run_policy: str | Unreadable
    jitter_window_ms: int | Unreadable
    lease_id: str | Unreadable | None
    lease_owner: str | Unreadable | None
    lease_expires_ms: int | Unreadable | None
    idempotency_key: str | Unreadable
    attempt: int | Unreadable
    retry_budget: int | Unreadable
    backoff_state: BackoffState | Unreadable | None
    run_state: str | Unreadable
    result_ref: str | Unreadable | None
    review_owner: str | Unreadable

    now_ms: int | Unreadable
    occurrence_ms: int | Unreadable
    prior_outcome: str | Unreadable
    lease_claims: tuple[Claim, ...] | Unreadable
    applied_jitter_ms: int | Unreadable
    trigger: str | Unreadable = TIMETABLE
    """`MANUAL` for an extra run that a person asked for: its instant is no tick, and no tick makes it stale."""
    later_tick_ms: int | Unreadable | ByExpression | None = BY_EXPRESSION
    """The later due tick as the schedule itself knows it; None when there is none."""
