"""The gate between the lease and the work: the contract, and what may settle an unknown outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duly.common.contract import Decision
from duly.common.identity import Occurrence
from duly.common.records.evidence import Evidence, Reconciled
from duly.common.records.occurrence import Effects
from duly.worker.gate import judge, needs_probe, not_before_ms

TICK_MS = 1_767_225_600_000
MODEL = {
    "schedule_type": "interval",
    "schedule_expression": "@every:60000",
    "timezone": "UTC",
    "missed_run_policy": "COALESCE_STALE_TICKS",
    "jitter_window": 0,
}


def evidence(**fields: Any) -> Evidence:
    """What the store gives for a second attempt that may begin; a None leaves the field out."""
    kept = {
        "now_ms": str(TICK_MS + 5_000),
        "kind": "scheduled",
        "model": json.dumps(MODEL),
        "state": "LEASED",
        "attempt": "2",
        "retry_budget": "3",
        "backoff_delay_ms": "0",
        "not_before_ms": str(TICK_MS),
        "lease_id": "t",
        "lease_owner": "w@1",
        "lease_expires_ms": str(TICK_MS + 9_000),
        "claims": ["t", "w@1", str(TICK_MS + 9_000)],
        "idempotency_key": f"docs@{TICK_MS}:0123456789abcdef",
        "review_owner": "ann",
        "prior_outcome": "NO_COMMITTED_RESULT",
        "applied_jitter_ms": "0",
        "next_run_ms": str(TICK_MS + 60_000),
        **fields,
    }
    text = json.dumps({name: value for name, value in kept.items() if value is not None})
    return Evidence.from_text(Occurrence("docs", TICK_MS), text)


@pytest.mark.parametrize("effects", list(Effects))
@pytest.mark.parametrize("prior", ["NONE", "NO_COMMITTED_RESULT"])
def test_a_known_past_lets_the_attempt_begin(effects: Effects, prior: str) -> None:
    judgement = judge(evidence(prior_outcome=prior), effects)
    assert judgement.decision is Decision.INTERVAL_RUN_REVIEW_REQUIRED
    assert judgement.reconciled is Reconciled.BY_NOTHING
    assert not needs_probe(judgement.evidence, effects)


@pytest.mark.parametrize(
    ("effects", "probed", "runs", "reconciled"),
    [
        (Effects.IDEMPOTENT, None, True, Reconciled.BY_DECLARATION),
        (Effects.GUARDED, "NO_COMMITTED_RESULT", True, Reconciled.BY_PROBE),
        (Effects.GUARDED, "UNKNOWN", False, Reconciled.BY_NOTHING),
        (Effects.GUARDED, "COMMITTED", False, Reconciled.BY_NOTHING),
        (Effects.GUARDED, None, False, Reconciled.BY_NOTHING),
        (Effects.UNSAFE, None, False, Reconciled.BY_NOTHING),
        (Effects.UNSAFE, "NO_COMMITTED_RESULT", False, Reconciled.BY_NOTHING),
    ],
)
def test_an_unknown_past_is_settled_by_the_effect_or_its_probe_and_by_nothing_else(
    effects: Effects, probed: str | None, runs: bool, reconciled: Reconciled
) -> None:
    judgement = judge(evidence(prior_outcome="UNKNOWN"), effects, probed)
    assert (judgement.decision.runs, judgement.reconciled) == (runs, reconciled)
    assert runs or judgement.decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN


def test_only_a_guarded_task_with_an_unknown_past_is_probed() -> None:
    unknown = evidence(prior_outcome="UNKNOWN")
    assert [effects for effects in Effects if needs_probe(unknown, effects)] == [Effects.GUARDED]


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("review_owner", "HOLD_REVIEW_OWNER_MISSING"),
        ("idempotency_key", "HOLD_IDEMPOTENCY_KEY_MISSING"),
        ("model", "HOLD_SCHEDULE_IDENTITY_INCOMPLETE"),
        ("applied_jitter_ms", "HOLD_JITTER_EXCEEDS_WINDOW"),
        ("next_run_ms", "HOLD_CHRONOLOGY_INVALID"),
        ("prior_outcome", "HOLD_PRIOR_OUTCOME_UNKNOWN"),
        ("lease_id", "HOLD_CONCURRENT_LEASE_CLAIM"),
        ("attempt", "HOLD_RETRY_BUDGET_EXHAUSTED"),
        ("retry_budget", "HOLD_RETRY_BUDGET_EXHAUSTED"),
        ("not_before_ms", "HOLD_BACKOFF_STATE_MISSING"),
    ],
)
def test_what_the_store_does_not_say_holds(missing: str, code: str) -> None:
    assert judge(evidence(**{missing: None}), Effects.IDEMPOTENT).decision == code


@pytest.mark.parametrize("odd", ["x", "", "1.5", "-1", "9" * 5_000])
def test_a_number_that_cannot_be_read_is_no_number(odd: str) -> None:
    judgement = judge(evidence(retry_budget=odd, attempt=odd), Effects.IDEMPOTENT)
    assert judgement.decision is Decision.HOLD_RETRY_BUDGET_EXHAUSTED
    assert judge(evidence(not_before_ms=odd), Effects.IDEMPOTENT).decision is Decision.HOLD_BACKOFF_STATE_MISSING


def test_a_lease_of_an_unknown_owner_may_be_anybodys() -> None:
    judgement = judge(evidence(claims=["foreign", "", str(TICK_MS + 9_000)]), Effects.IDEMPOTENT)
    assert judgement.decision is Decision.HOLD_CONCURRENT_LEASE_CLAIM


def test_an_attempt_that_is_not_due_says_until_when() -> None:
    retry = judge(evidence(not_before_ms=str(TICK_MS + 7_000)), Effects.IDEMPOTENT)
    assert (retry.decision, not_before_ms(retry)) == ("RETRY_NOT_YET_DUE", TICK_MS + 7_000)
    early = judge(evidence(now_ms=str(TICK_MS - 1)), Effects.IDEMPOTENT)
    assert (early.decision, not_before_ms(early)) == ("NOT_DUE", TICK_MS)
