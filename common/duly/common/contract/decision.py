"""What can be decided, and how a decision is reported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Decision(StrEnum):
    """Every code there is; the holds stand in the order in which they decide."""

    CALENDAR_RUN_REVIEW_REQUIRED = "CALENDAR_RUN_REVIEW_REQUIRED"
    BOUNDED_CATCH_UP_REVIEW_REQUIRED = "BOUNDED_CATCH_UP_REVIEW_REQUIRED"
    INTERVAL_RUN_REVIEW_REQUIRED = "INTERVAL_RUN_REVIEW_REQUIRED"
    COALESCED_STALE_TICK = "COALESCED_STALE_TICK"
    NOT_DUE = "NOT_DUE"
    RETRY_NOT_YET_DUE = "RETRY_NOT_YET_DUE"
    ALREADY_COMMITTED = "ALREADY_COMMITTED"
    HOLD_SCHEDULE_IDENTITY_INCOMPLETE = "HOLD_SCHEDULE_IDENTITY_INCOMPLETE"
    HOLD_REVIEW_OWNER_MISSING = "HOLD_REVIEW_OWNER_MISSING"
    HOLD_MISSED_RUN_POLICY_UNKNOWN = "HOLD_MISSED_RUN_POLICY_UNKNOWN"
    HOLD_IDEMPOTENCY_KEY_MISSING = "HOLD_IDEMPOTENCY_KEY_MISSING"
    HOLD_POLICY_NOT_RECOMPUTED = "HOLD_POLICY_NOT_RECOMPUTED"
    HOLD_CHRONOLOGY_INVALID = "HOLD_CHRONOLOGY_INVALID"
    HOLD_JITTER_EXCEEDS_WINDOW = "HOLD_JITTER_EXCEEDS_WINDOW"
    HOLD_CONCURRENT_LEASE_CLAIM = "HOLD_CONCURRENT_LEASE_CLAIM"
    HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN = "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN"
    HOLD_PRIOR_OUTCOME_UNKNOWN = "HOLD_PRIOR_OUTCOME_UNKNOWN"
    HOLD_LEASE_MISSING = "HOLD_LEASE_MISSING"
    HOLD_RETRY_BUDGET_EXHAUSTED = "HOLD_RETRY_BUDGET_EXHAUSTED"
    HOLD_BACKOFF_STATE_MISSING = "HOLD_BACKOFF_STATE_MISSING"

    @property
    def holds(self) -> bool:
        """Whether nobody may go on before the reviewer has answered."""
        return self.value.startswith("HOLD_")

    @property
    def runs(self) -> bool:
        """Whether one attempt may begin."""
        return self in _RUNS


_RUNS = {
    Decision.CALENDAR_RUN_REVIEW_REQUIRED,
    Decision.BOUNDED_CATCH_UP_REVIEW_REQUIRED,
    Decision.INTERVAL_RUN_REVIEW_REQUIRED,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, and what a reviewer needs to check it."""

    decision: Decision
    holds: tuple[Decision, ...]
    """Every gate that did not pass, in gate order."""
    blocking_fields: tuple[str, ...]
    """The fields of the case file that keep those gates shut, in gate order, each once."""
    explanation: str
    """One sentence or two of printable text, 300 characters at most."""
    review_owner: str | None

    @property
    def runs(self) -> bool:
        """Whether one attempt may begin."""
        return self.decision.runs

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` prints it."""
        return {
            "decision": self.decision.value,
            "runs": self.runs,
            "holds": [hold.value for hold in self.holds],
            "blocking_fields": list(self.blocking_fields),
            "explanation": self.explanation,
            "review_owner": self.review_owner,
        }
