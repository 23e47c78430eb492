"""The worked scenarios, from an outage to another schedule, each a step that a reviewer can repeat.

A daily job of three updaters was down for six hours. Everything is told from the evidence; no step looks at what an
earlier one decided.
"""

from __future__ import annotations

from typing import Any

from duly.common.contract import Decision, Verdict, decide, read_case
from tests.pure.contract_cases import ABSENT, change, claim

DAILY: dict[str, Any] = {
    "evidence": {
        "job_id": "docs-updater",
        "schedule_type": "calendar",
        "schedule_expression": "0 3 * * *",
        "timezone": "Europe/Paris",
        "last_run_at": "2026-03-02T02:00:00Z",
        "next_run_at": "2026-03-03T02:00:00Z",
        "missed_run_policy": "SINGLE_BOUNDED_CATCH_UP",
        "jitter_window": 600_000,
        "lease_id": None,
        "lease_owner": None,
        "lease_expires_at": None,
        "idempotency_key": "docs-updater@1772503200000:5d41402abc4b2a76",
        "attempt": 1,
        "retry_budget": 3,
        "backoff_state": None,
        "run_state": "PENDING",
        "result_ref": None,
        "review_owner": "docs-oncall",
    },
    "observed": {
        "now": "2026-03-03T08:00:00Z",
        "occurrence": "2026-03-03T02:00:00Z",
        "prior_outcome": "UNKNOWN",
        "lease_claims": [],
        "applied_jitter_ms": 0,
    },
}
OWN = claim("lease-302-01", "updater-1", "2026-03-03T08:05:00Z")
RECONCILED = change(
    DAILY,
    **OWN,
    lease_claims=[OWN],
    prior_outcome="NO_COMMITTED_RESULT",
    run_state="LEASED",
)
FIVE_MINUTES = change(
    RECONCILED,
    schedule_type="interval",
    schedule_expression="@every:300000",
    timezone="UTC",
    last_run_at="2026-03-10T11:55:00Z",
    next_run_at="2026-03-10T12:00:00Z",
    occurrence="2026-03-10T12:00:00Z",
    now="2026-03-10T12:00:04Z",
    prior_outcome="NONE",
)
RESTATED = change(
    FIVE_MINUTES,
    missed_run_policy="COALESCE_STALE_TICKS",
    jitter_window=15_000,
    applied_jitter_ms=3_000,
    idempotency_key="docs-updater@1773144000000:9b74c9897bac770f",
    retry_budget=2,
    **claim("lease-410-07", "updater-3", "2026-03-10T12:00:34Z"),
    lease_claims=[claim("lease-410-07", "updater-3", "2026-03-10T12:00:34Z")],
)


def judge(raw: dict[str, Any], **fields: Any) -> Verdict:
    return decide(read_case(change(raw, **fields)))


def test_after_the_outage_an_unclear_outcome_holds_although_the_occurrence_is_overdue() -> None:
    verdict = judge(DAILY)
    assert verdict.decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN
    assert verdict.blocking_fields[0] == "prior_outcome"
    assert verdict.review_owner == "docs-oncall"


def test_a_lease_alone_does_not_clear_what_became_of_the_run_before() -> None:
    assert judge(RECONCILED, prior_outcome="UNKNOWN").holds == (Decision.HOLD_PRIOR_OUTCOME_UNKNOWN,)


def test_reconciled_and_leased_it_is_one_catch_up_under_review() -> None:
    verdict = judge(RECONCILED)
    assert verdict.decision is Decision.BOUNDED_CATCH_UP_REVIEW_REQUIRED
    assert verdict.runs
    assert "updater-1 holds lease-302-01" in verdict.explanation


def test_reconciled_without_a_lease_nobody_may_start() -> None:
    assert judge(DAILY, prior_outcome="NO_COMMITTED_RESULT").holds == (Decision.HOLD_LEASE_MISSING,)


def test_two_workers_on_one_occurrence_hold_whoever_is_on_record() -> None:
    other = claim("lease-302-02", "updater-2", "2026-03-03T08:04:58Z")
    for recorded in (OWN, other):
        verdict = judge(RECONCILED, **recorded, lease_claims=[OWN, other])
        assert verdict.holds == (Decision.HOLD_CONCURRENT_LEASE_CLAIM,)
        assert "lease_claims" in verdict.blocking_fields
        assert all(name in verdict.explanation for name in ("updater-1", "updater-2"))


def test_two_workers_under_one_lease_id_are_still_two() -> None:
    other = {**OWN, "lease_owner": "updater-2"}
    assert judge(RECONCILED, lease_claims=[OWN, other]).decision is Decision.HOLD_CONCURRENT_LEASE_CLAIM


def test_the_second_claim_is_history_once_it_has_expired() -> None:
    expired = claim("lease-302-02", "updater-2", "2026-03-03T08:00:00Z")
    assert judge(RECONCILED, lease_claims=[OWN, expired]).runs


def test_after_a_restart_no_catch_up_is_invented_where_no_policy_was_decided() -> None:
    verdict = judge(RECONCILED, missed_run_policy="UNKNOWN")
    assert verdict.holds == (Decision.HOLD_MISSED_RUN_POLICY_UNKNOWN,)
    assert verdict.blocking_fields == ("missed_run_policy",)


def test_a_lease_that_expired_in_the_middle_of_the_work_lets_nobody_start_again() -> None:
    verdict = judge(RECONCILED, run_state="RUNNING", prior_outcome="UNKNOWN", now="2026-03-03T08:05:00Z")
    assert verdict.decision is Decision.HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN
    assert "updater-1 expired at 2026-03-03T08:05:00Z" in verdict.explanation


def test_a_spent_budget_is_not_refilled_by_the_next_tick() -> None:
    spent = {"attempt": 4, "backoff_state": {"delay_ms": 240_000, "not_before": "2026-03-03T08:30:00Z"}}
    lease = claim("lease-302-09", "updater-1", "2026-03-04T02:05:30Z")
    for now, next_run in (
        ("2026-03-03T09:00:00Z", "2026-03-03T02:00:00Z"),
        ("2026-03-04T02:00:30Z", "2026-03-04T02:00:00Z"),
    ):
        verdict = judge(RECONCILED, **spent, now=now, next_run_at=next_run, **lease, lease_claims=[lease])
        assert verdict.holds == (Decision.HOLD_RETRY_BUDGET_EXHAUSTED,)


def test_a_retry_needs_the_backoff_state_of_the_attempt_before() -> None:
    assert judge(RECONCILED, attempt=2).holds == (Decision.HOLD_BACKOFF_STATE_MISSING,)
    waited = {"delay_ms": 60_000, "not_before": "2026-03-03T07:59:00Z"}
    assert judge(RECONCILED, attempt=2, backoff_state=waited).runs


def test_without_its_key_a_repetition_would_not_be_recognised() -> None:
    assert judge(RECONCILED, idempotency_key=None).holds == (Decision.HOLD_IDEMPOTENCY_KEY_MISSING,)


def test_a_next_run_before_the_last_one_cannot_be() -> None:
    verdict = judge(RECONCILED, last_run_at="2026-03-04T02:00:00Z")
    assert verdict.holds == (Decision.HOLD_CHRONOLOGY_INVALID,)
    assert {"next_run_at", "last_run_at"} <= set(verdict.blocking_fields)


def test_jitter_beyond_the_declared_window_holds() -> None:
    assert judge(RECONCILED, applied_jitter_ms=600_001).holds == (Decision.HOLD_JITTER_EXCEEDS_WINDOW,)


def test_a_run_that_nobody_answers_for_does_not_start() -> None:
    verdict = judge(RECONCILED, review_owner=ABSENT)
    assert verdict.holds == (Decision.HOLD_REVIEW_OWNER_MISSING,)
    assert verdict.review_owner is None


def test_moved_to_five_minutes_the_policy_of_the_daily_job_is_no_answer() -> None:
    verdict = judge(RESTATED, missed_run_policy="SINGLE_BOUNDED_CATCH_UP")
    assert verdict.holds == (Decision.HOLD_POLICY_NOT_RECOMPUTED,)
    assert verdict.blocking_fields == ("missed_run_policy",)


def test_moved_to_five_minutes_the_key_and_the_lease_of_the_daily_job_are_no_answer_either() -> None:
    holds = judge(FIVE_MINUTES, missed_run_policy="COALESCE_STALE_TICKS").holds
    assert holds == (Decision.HOLD_IDEMPOTENCY_KEY_MISSING, Decision.HOLD_LEASE_MISSING)


def test_moved_to_five_minutes_with_everything_decided_anew_it_runs_under_review() -> None:
    assert judge(RESTATED).decision is Decision.INTERVAL_RUN_REVIEW_REQUIRED


def test_of_a_backlog_of_five_minute_ticks_only_the_latest_runs() -> None:
    behind = {
        "occurrence": "2026-03-10T11:55:00Z",
        "last_run_at": "2026-03-10T11:50:00Z",
        "idempotency_key": "docs-updater@1773143700000:9b74c9897bac770f",
    }
    assert judge(RESTATED, **behind).decision is Decision.COALESCED_STALE_TICK
    assert judge(RESTATED).runs
