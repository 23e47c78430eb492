"""Each gate: what it holds, what it names, and what it lets pass."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.contract import GATES, Decision
from tests.pure.contract_cases import (
    CALENDAR,
    DONE,
    INTERVAL,
    LATER_MS,
    MANUAL,
    NO_LEASE,
    RETRY,
    STALE,
    claim,
    holds,
    judge,
)

OWN = claim("lease-1", "worker-a", "2026-03-03T02:00:40Z")

# What is changed, the holds there are, and the fields that are named.
HELD: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (CALENDAR, {"job_id": "a b"}, "SCHEDULE_IDENTITY_INCOMPLETE IDEMPOTENCY_KEY_MISSING", "job_id idempotency_key"),
    (
        CALENDAR,
        {"schedule_type": "monthly"},
        "SCHEDULE_IDENTITY_INCOMPLETE POLICY_NOT_RECOMPUTED",
        "schedule_type missed_run_policy",
    ),
    (
        CALENDAR,
        {"schedule_type": "interval"},
        "SCHEDULE_IDENTITY_INCOMPLETE POLICY_NOT_RECOMPUTED",
        "schedule_type schedule_expression missed_run_policy",
    ),
    (
        CALENDAR,
        {"schedule_type": "interval", "missed_run_policy": "SKIP"},
        "SCHEDULE_IDENTITY_INCOMPLETE",
        "schedule_type schedule_expression",
    ),
    (
        CALENDAR,
        {"schedule_expression": "@daily"},
        "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID",
        "schedule_expression",
    ),
    (
        CALENDAR,
        {"schedule_expression": "0 3 * * *" + " " * 120},
        "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID",
        "schedule_expression",
    ),
    (
        CALENDAR,
        {"schedule_expression": "CRON_TZ=UTC 0 2 * * *"},
        "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID",
        "schedule_expression timezone",
    ),
    (CALENDAR, {"timezone": "Mars/Olympus"}, "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID", "timezone"),
    (CALENDAR, {"timezone": "../UTC"}, "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID", "timezone"),
    (INTERVAL, {"timezone": "Mars/Olympus"}, "SCHEDULE_IDENTITY_INCOMPLETE", "timezone"),
    (CALENDAR, {"review_owner": "  "}, "REVIEW_OWNER_MISSING", "review_owner"),
    (CALENDAR, {"missed_run_policy": "UNKNOWN"}, "MISSED_RUN_POLICY_UNKNOWN", "missed_run_policy"),
    (CALENDAR, {"missed_run_policy": "run_once"}, "MISSED_RUN_POLICY_UNKNOWN", "missed_run_policy"),
    (CALENDAR, {"idempotency_key": f"docs@{LATER_MS}:0123456789abcdef"}, "IDEMPOTENCY_KEY_MISSING", "idempotency_key"),
    (
        CALENDAR,
        {"idempotency_key": "docs@1772503200000:0123456789ABCDEF"},
        "IDEMPOTENCY_KEY_MISSING",
        "idempotency_key",
    ),
    (
        CALENDAR,
        {"idempotency_key": "docs@1772503200000:0123456789abcdef0"},
        "IDEMPOTENCY_KEY_MISSING",
        "idempotency_key",
    ),
    (
        CALENDAR,
        {"idempotency_key": "feed@1772503200000:0123456789abcdef"},
        "IDEMPOTENCY_KEY_MISSING",
        "idempotency_key",
    ),
    (CALENDAR, {"missed_run_policy": "COALESCE_STALE_TICKS"}, "POLICY_NOT_RECOMPUTED", "missed_run_policy"),
    (INTERVAL, {"missed_run_policy": "SINGLE_BOUNDED_CATCH_UP"}, "POLICY_NOT_RECOMPUTED", "missed_run_policy"),
    (CALENDAR, {"last_run_at": "2026-03-03T02:00:00Z"}, "CHRONOLOGY_INVALID", "next_run_at last_run_at occurrence"),
    (CALENDAR, {"last_run_at": "2026-03-02T02:00:00.001Z"}, "CHRONOLOGY_INVALID", "last_run_at"),
    (CALENDAR, {"next_run_at": "2026-03-02T02:00:00Z"}, "CHRONOLOGY_INVALID", "next_run_at last_run_at occurrence"),
    (
        CALENDAR,
        {"next_run_at": "2026-03-02T02:00:00Z", "last_run_at": None},
        "CHRONOLOGY_INVALID",
        "next_run_at occurrence",
    ),
    (CALENDAR, {"next_run_at": "2026-03-03T03:00:00Z"}, "CHRONOLOGY_INVALID", "next_run_at"),
    (CALENDAR, {"later_tick": "2026-03-03T02:00:00Z"}, "CHRONOLOGY_INVALID", "later_tick occurrence"),
    (CALENDAR, {"later_tick": "soon"}, "CHRONOLOGY_INVALID", "later_tick"),
    (CALENDAR, {"trigger": "cron"}, "CHRONOLOGY_INVALID", "trigger"),
    (MANUAL, {"next_run_at": "2026-03-02T02:00:00Z"}, "CHRONOLOGY_INVALID", "next_run_at last_run_at"),
    (CALENDAR, {"applied_jitter_ms": -1}, "JITTER_EXCEEDS_WINDOW", "applied_jitter_ms jitter_window"),
    (CALENDAR, {"applied_jitter_ms": 60_001}, "JITTER_EXCEEDS_WINDOW", "applied_jitter_ms jitter_window"),
    (
        CALENDAR,
        {"lease_claims": [OWN, claim("lease-2", "worker-b", "2026-03-03T02:00:10.001Z")]},
        "CONCURRENT_LEASE_CLAIM",
        "lease_claims lease_id lease_owner",
    ),
    (
        CALENDAR,
        {"lease_claims": [OWN, claim("lease-1", "worker-b", "2026-03-03T02:01:00Z")]},
        "CONCURRENT_LEASE_CLAIM",
        "lease_claims lease_owner",
    ),
    (
        CALENDAR,
        {"lease_claims": [claim("lease-2", "worker-a", "2026-03-03T02:01:00Z")]},
        "CONCURRENT_LEASE_CLAIM",
        "lease_claims lease_id",
    ),
    (CALENDAR, {"lease_claims": [OWN, {**OWN, "lease_expires_at": None}]}, "CONCURRENT_LEASE_CLAIM", "lease_claims"),
    (CALENDAR, {"lease_claims": [{**OWN, "note": "x"}]}, "CONCURRENT_LEASE_CLAIM", "lease_claims"),
    (
        CALENDAR,
        {"run_state": "RUNNING", "now": "2026-03-03T02:00:40Z"},
        "LEASE_EXPIRED_OUTCOME_UNKNOWN PRIOR_OUTCOME_UNKNOWN LEASE_MISSING",
        "lease_expires_at prior_outcome run_state",
    ),
    (
        CALENDAR,
        {"run_state": "HELD", "prior_outcome": "UNKNOWN", **NO_LEASE},
        "LEASE_EXPIRED_OUTCOME_UNKNOWN PRIOR_OUTCOME_UNKNOWN LEASE_MISSING",
        "lease_expires_at prior_outcome lease_id lease_owner",
    ),
    (CALENDAR, {"run_state": "HELD"}, "PRIOR_OUTCOME_UNKNOWN", "run_state"),
    (
        CALENDAR,
        {"run_state": "HELD", **NO_LEASE},
        "PRIOR_OUTCOME_UNKNOWN LEASE_MISSING",
        "run_state lease_id lease_owner lease_expires_at",
    ),
    (CALENDAR, {**DONE, "timezone": "?"}, "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID", "timezone"),
    (CALENDAR, {"run_state": "RUNNING"}, "PRIOR_OUTCOME_UNKNOWN", "run_state"),
    (CALENDAR, {"run_state": "CANCELLED"}, "PRIOR_OUTCOME_UNKNOWN", "run_state"),
    (CALENDAR, {"prior_outcome": "UNKNOWN"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome"),
    (CALENDAR, {"prior_outcome": "FINE"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome"),
    (CALENDAR, {"prior_outcome": "COMMITTED"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome run_state result_ref"),
    (CALENDAR, {**DONE, "result_ref": None}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome result_ref run_state"),
    (CALENDAR, {**DONE, "run_state": "LEASED"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome run_state"),
    (CALENDAR, {**DONE, "prior_outcome": "NONE"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome run_state result_ref"),
    (CALENDAR, {"result_ref": "s3://diffs/1"}, "PRIOR_OUTCOME_UNKNOWN", "prior_outcome result_ref"),
    (CALENDAR, {"lease_expires_at": "2026-03-03T02:00:10Z"}, "LEASE_MISSING", "lease_expires_at"),
    (CALENDAR, NO_LEASE, "LEASE_MISSING", "lease_id lease_owner lease_expires_at"),
    (RETRY, NO_LEASE, "LEASE_MISSING", "lease_id lease_owner lease_expires_at"),
    (RETRY, {"attempt": 4}, "RETRY_BUDGET_EXHAUSTED", "attempt retry_budget"),
    (STALE, {"attempt": 4}, "RETRY_BUDGET_EXHAUSTED BACKOFF_STATE_MISSING", "attempt retry_budget backoff_state"),
    (RETRY, {"backoff_state": None}, "BACKOFF_STATE_MISSING", "backoff_state"),
    (CALENDAR, {"backoff_state": {"delay_ms": 1}}, "BACKOFF_STATE_MISSING", "backoff_state"),
    (
        RETRY,
        {"backoff_state": {"delay_ms": -1, "not_before": "2026-03-03T02:00:09Z"}},
        "BACKOFF_STATE_MISSING",
        "backoff_state",
    ),
]

PASSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (CALENDAR, {"schedule_expression": "CRON_TZ=Europe/Paris 0 3 * * *"}),
    (CALENDAR, {"schedule_expression": "  0  3 * * * "}),
    (CALENDAR, {"schedule_expression": "0 3 * * *" + " " * 119}),
    (INTERVAL, {"timezone": "America/New_York"}),
    (CALENDAR, {"job_id": "D.o-c_s", "idempotency_key": "D.o-c_s@1772503200000:0123456789abcdef"}),
    (CALENDAR, {"last_run_at": None}),
    (CALENDAR, {"next_run_at": "2026-03-04T02:00:00Z"}),
    (CALENDAR, {"occurrence": "2026-03-03T03:00:00+01:00"}),
    (MANUAL, {}),
    (MANUAL, {"last_run_at": "2026-03-03T02:00:00Z", "next_run_at": "2026-03-04T02:00:00Z"}),
    (MANUAL, {"next_run_at": "2026-03-03T01:17:00.500Z"}),
    (MANUAL, {"next_run_at": "2026-03-03T01:17:00.500Z", "last_run_at": "2026-03-03T02:00:00Z"}),
    (CALENDAR, {"applied_jitter_ms": 0, "jitter_window": 0}),
    (
        CALENDAR,
        {"applied_jitter_ms": 60_000, "now": "2026-03-03T02:01:00Z", "lease_expires_at": "2026-03-03T02:02:00Z"},
    ),
    (CALENDAR, {"lease_claims": []}),
    (CALENDAR, {"lease_claims": [OWN, OWN]}),
    (CALENDAR, {"lease_claims": [OWN, claim("lease-0", "worker-b", "2026-03-03T02:00:10Z")]}),
    (CALENDAR, {"prior_outcome": "NO_COMMITTED_RESULT", "run_state": "PENDING"}),
    (CALENDAR, {"lease_expires_at": "2026-03-03T02:00:10.001Z"}),
    (RETRY, {"attempt": 3}),
    (RETRY, {"run_state": "RETRY_WAIT"}),
    (CALENDAR, {"backoff_state": {"delay_ms": 0, "not_before": "2026-03-03T02:00:10Z"}}),
]


@pytest.mark.parametrize(("base", "changes", "codes", "fields"), HELD)
def test_a_gate_holds_and_names_what_keeps_it_shut(
    base: dict[str, Any], changes: dict[str, Any], codes: str, fields: str
) -> None:
    verdict = judge(base, **changes)
    assert [hold.value for hold in verdict.holds] == [f"HOLD_{code}" for code in codes.split()]
    assert list(verdict.blocking_fields) == fields.split()
    assert verdict.decision is verdict.holds[0]
    assert not verdict.runs


@pytest.mark.parametrize(("base", "changes"), PASSED)
def test_what_only_looks_like_a_fault_runs(base: dict[str, Any], changes: dict[str, Any]) -> None:
    verdict = judge(base, **changes)
    assert (verdict.holds, verdict.blocking_fields) == ((), ())
    assert verdict.runs, verdict.explanation


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.hold.value)
def test_every_gate_is_the_first_to_hold_in_some_case(gate: Any) -> None:
    # The row of the table above that its removal would break.
    assert any(f"HOLD_{codes.split()[0]}" == gate.hold.value for _, _, codes, _ in HELD)


def test_the_gates_stand_in_the_published_order() -> None:
    assert [gate.hold.value for gate in GATES] == [
        "HOLD_SCHEDULE_IDENTITY_INCOMPLETE",
        "HOLD_REVIEW_OWNER_MISSING",
        "HOLD_MISSED_RUN_POLICY_UNKNOWN",
        "HOLD_IDEMPOTENCY_KEY_MISSING",
        "HOLD_POLICY_NOT_RECOMPUTED",
        "HOLD_CHRONOLOGY_INVALID",
        "HOLD_JITTER_EXCEEDS_WINDOW",
        "HOLD_CONCURRENT_LEASE_CLAIM",
        "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN",
        "HOLD_PRIOR_OUTCOME_UNKNOWN",
        "HOLD_LEASE_MISSING",
        "HOLD_RETRY_BUDGET_EXHAUSTED",
        "HOLD_BACKOFF_STATE_MISSING",
    ]
    assert [each for each in Decision if each.holds] == [gate.hold for gate in GATES]


def test_a_claim_counts_as_alive_while_no_clock_can_be_read() -> None:
    expired = [claim("lease-0", "worker-b", "2026-03-01T00:00:00Z")]
    assert "CONCURRENT_LEASE_CLAIM" not in holds(CALENDAR, lease_claims=expired)
    assert "CONCURRENT_LEASE_CLAIM" in holds(CALENDAR, lease_claims=expired, now="?")


def test_an_unreadable_run_state_may_hide_work_that_had_begun() -> None:
    assert "LEASE_EXPIRED_OUTCOME_UNKNOWN" in holds(CALENDAR, run_state="?", **NO_LEASE)
    assert "LEASE_EXPIRED_OUTCOME_UNKNOWN" not in holds(
        CALENDAR, run_state="?", prior_outcome="NO_COMMITTED_RESULT", **NO_LEASE
    )


@pytest.mark.parametrize("policy", ["SKIP", "BACKFILL_BOUNDED"])
def test_a_policy_of_both_types_needs_no_type_to_be_checked(policy: str) -> None:
    assert holds(CALENDAR, schedule_type="?", missed_run_policy=policy) == ["SCHEDULE_IDENTITY_INCOMPLETE"]


def test_a_zone_with_a_long_name_leaves_the_expression_its_full_length() -> None:
    minutes = ",".join(str(each) for each in range(40))
    expression = f"{minutes} 3 * * *"
    zone = "America/Argentina/ComodRivadavia"
    assert len(expression) <= 128 < len(f"CRON_TZ={zone} {expression}")
    instant = "2026-03-03T06:00:00Z"
    ms = 1_772_517_600_000
    found = holds(
        CALENDAR,
        schedule_expression=expression,
        timezone=zone,
        occurrence=instant,
        next_run_at=instant,
        last_run_at="2026-03-03T06:00:00Z".replace("03T", "02T"),
        idempotency_key=f"docs@{ms}:0123456789abcdef",
        now="2026-03-03T06:00:05Z",
        lease_expires_at="2026-03-03T06:01:00Z",
        lease_claims=[],
    )
    assert found == []
