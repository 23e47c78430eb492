"""Case files to start from, each of which may run, and ways to change them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

from duly.common.contract import Verdict, decide, read_case

ABSENT: Final = object()
"""As the value of a field: leave it out."""

OBSERVED: Final = {
    "now",
    "occurrence",
    "prior_outcome",
    "lease_claims",
    "applied_jitter_ms",
    "trigger",
    "later_tick",
}

EARLIER_MS: Final = 1_772_416_800_000  # 2026-03-02T02:00:00Z, 03:00 in Paris
DUE_MS: Final = 1_772_503_200_000
LATER_MS: Final = 1_772_589_600_000

CALENDAR: Final[dict[str, Any]] = {
    "evidence": {
        "job_id": "docs",
        "schedule_type": "calendar",
        "schedule_expression": "0 3 * * *",
        "timezone": "Europe/Paris",
        "last_run_at": "2026-03-02T02:00:00Z",
        "next_run_at": "2026-03-03T02:00:00Z",
        "missed_run_policy": "SINGLE_BOUNDED_CATCH_UP",
        "jitter_window": 60_000,
        "lease_id": "lease-1",
        "lease_owner": "worker-a",
        "lease_expires_at": "2026-03-03T02:00:40Z",
        "idempotency_key": f"docs@{DUE_MS}:0123456789abcdef",
        "attempt": 1,
        "retry_budget": 3,
        "backoff_state": None,
        "run_state": "LEASED",
        "result_ref": None,
        "review_owner": "ann",
    },
    "observed": {
        "now": "2026-03-03T02:00:10Z",
        "occurrence": "2026-03-03T02:00:00Z",
        "prior_outcome": "NONE",
        "lease_claims": [
            {"lease_id": "lease-1", "lease_owner": "worker-a", "lease_expires_at": "2026-03-03T02:00:40Z"},
        ],
        "applied_jitter_ms": 5_000,
    },
}


def change(base: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The case file with some fields changed."""
    made = deepcopy(base)
    for name, value in fields.items():
        part = made["observed" if name in OBSERVED else "evidence"]
        if value is ABSENT:
            part.pop(name, None)
        else:
            part[name] = value
    return made


def claim(lease_id: str, owner: str, expires: str) -> dict[str, str]:
    return {"lease_id": lease_id, "lease_owner": owner, "lease_expires_at": expires}


INTERVAL: Final = change(
    CALENDAR,
    schedule_type="interval",
    schedule_expression="@every:300000",
    timezone="UTC",
    last_run_at="2026-03-03T01:55:00Z",
    missed_run_policy="COALESCE_STALE_TICKS",
)
RETRY: Final = change(
    CALENDAR,
    attempt=2,
    backoff_state={"delay_ms": 1_000, "not_before": "2026-03-03T02:00:09Z"},
    prior_outcome="NO_COMMITTED_RESULT",
)
STALE: Final = change(INTERVAL, now="2026-03-03T02:05:00Z", lease_expires_at="2026-03-03T02:05:30Z", lease_claims=[])
MANUAL: Final = change(
    CALENDAR,
    trigger="manual",
    occurrence="2026-03-03T01:17:00.500Z",
    idempotency_key=f"docs@{DUE_MS - 2_579_500}:0123456789abcdef",
)
NO_LEASE: Final = {"lease_id": None, "lease_owner": None, "lease_expires_at": None, "lease_claims": []}
DONE: Final = {"prior_outcome": "COMMITTED", "run_state": "SUCCEEDED", "result_ref": "s3://diffs/1"}


def judge(base: dict[str, Any], **fields: Any) -> Verdict:
    """The verdict on the case file with some fields changed."""
    return decide(read_case(change(base, **fields)))


def holds(base: dict[str, Any], **fields: Any) -> list[str]:
    """Its holds, without what they have in common."""
    return [hold.removeprefix("HOLD_") for hold in judge(base, **fields).holds]
