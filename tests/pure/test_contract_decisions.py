"""What is decided once it is clear what holds, and what decides before what."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.contract import Decision, decide, holds_before_lease, read_case
from duly.common.records.occurrence import OccurrenceState
from tests.pure.contract_cases import ABSENT, CALENDAR, DONE, INTERVAL, MANUAL, NO_LEASE, RETRY, STALE, change, judge

LATE = {"now": "2026-03-03T02:01:05.001Z", "lease_expires_at": "2026-03-03T02:02:00Z", "lease_claims": []}
NEXT_DAY = {"now": "2026-03-04T02:00:00Z", "lease_expires_at": "2026-03-04T02:01:00Z", "lease_claims": []}
LONG_LEASE = {"lease_expires_at": "2026-03-05T00:00:00Z", "lease_claims": []}

DECIDED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("CALENDAR_RUN_REVIEW_REQUIRED", CALENDAR, {}),
    ("CALENDAR_RUN_REVIEW_REQUIRED", CALENDAR, {**LATE, "now": "2026-03-03T02:01:05Z"}),
    ("CALENDAR_RUN_REVIEW_REQUIRED", CALENDAR, {**LATE, "missed_run_policy": "SKIP"}),
    ("CALENDAR_RUN_REVIEW_REQUIRED", RETRY, {**NEXT_DAY, "missed_run_policy": "SKIP"}),
    ("CALENDAR_RUN_REVIEW_REQUIRED", MANUAL, NEXT_DAY),
    ("BOUNDED_CATCH_UP_REVIEW_REQUIRED", CALENDAR, LATE),
    ("BOUNDED_CATCH_UP_REVIEW_REQUIRED", CALENDAR, {**LATE, "missed_run_policy": "BACKFILL_BOUNDED"}),
    ("BOUNDED_CATCH_UP_REVIEW_REQUIRED", CALENDAR, {**NEXT_DAY, "missed_run_policy": "BACKFILL_BOUNDED"}),
    ("BOUNDED_CATCH_UP_REVIEW_REQUIRED", RETRY, NEXT_DAY),
    (
        "BOUNDED_CATCH_UP_REVIEW_REQUIRED",
        CALENDAR,
        {"later_tick": "2026-03-03T02:00:10Z", "missed_run_policy": "BACKFILL_BOUNDED"},
    ),
    ("BOUNDED_CATCH_UP_REVIEW_REQUIRED", CALENDAR, {**NEXT_DAY, "later_tick": None}),
    ("INTERVAL_RUN_REVIEW_REQUIRED", INTERVAL, {}),
    ("INTERVAL_RUN_REVIEW_REQUIRED", INTERVAL, LATE),
    ("INTERVAL_RUN_REVIEW_REQUIRED", INTERVAL, {"missed_run_policy": "SKIP"}),
    ("INTERVAL_RUN_REVIEW_REQUIRED", STALE, {"missed_run_policy": "BACKFILL_BOUNDED"}),
    ("INTERVAL_RUN_REVIEW_REQUIRED", STALE, {"later_tick": None}),
    ("INTERVAL_RUN_REVIEW_REQUIRED", STALE, {"later_tick": "2026-03-03T02:05:00.001Z"}),
    ("COALESCED_STALE_TICK", STALE, {}),
    ("COALESCED_STALE_TICK", STALE, {"missed_run_policy": "SKIP"}),
    ("COALESCED_STALE_TICK", STALE, NO_LEASE),
    ("COALESCED_STALE_TICK", CALENDAR, NEXT_DAY),
    ("COALESCED_STALE_TICK", CALENDAR, {"later_tick": "2026-03-03T02:00:10Z"}),
    ("NOT_DUE", CALENDAR, {"now": "2026-03-03T01:59:59.999Z"}),
    ("NOT_DUE", CALENDAR, {"now": "2026-03-03T02:00:04.999Z"}),
    ("NOT_DUE", CALENDAR, {"now": "2026-03-03T01:59:59.999Z", **NO_LEASE, "review_owner": None}),
    ("RETRY_NOT_YET_DUE", RETRY, {"now": "2026-03-03T02:00:08.999Z"}),
    ("RETRY_NOT_YET_DUE", RETRY, {"now": "2026-03-03T02:00:08.999Z", **NO_LEASE}),
    ("ALREADY_COMMITTED", CALENDAR, DONE),
    ("ALREADY_COMMITTED", CALENDAR, {**DONE, **NO_LEASE, "review_owner": None, "attempt": 9}),
    ("ALREADY_COMMITTED", CALENDAR, {**DONE, "now": "2026-03-03T01:00:00Z"}),
]


@pytest.mark.parametrize(("decision", "base", "changes"), DECIDED)
def test_each_decision_comes_from_its_case(decision: str, base: dict[str, Any], changes: dict[str, Any]) -> None:
    verdict = judge(base, **changes)
    assert verdict.decision.value == decision, verdict.explanation
    assert (verdict.holds, verdict.blocking_fields) == ((), ())
    assert verdict.runs is decision.endswith("_REVIEW_REQUIRED")


def test_the_codes_are_the_published_ones() -> None:
    assert {each.value for each in Decision if not each.holds} == {decision for decision, _, _ in DECIDED}
    assert {each.value for each in Decision if each.runs} == {
        "CALENDAR_RUN_REVIEW_REQUIRED",
        "BOUNDED_CATCH_UP_REVIEW_REQUIRED",
        "INTERVAL_RUN_REVIEW_REQUIRED",
    }


@pytest.mark.parametrize("changes", [DONE, {"now": "2026-03-03T01:00:00Z"}])
def test_an_incomplete_identity_decides_before_everything(changes: dict[str, Any]) -> None:
    assert judge(CALENDAR, timezone=None, **changes).decision is Decision.HOLD_SCHEDULE_IDENTITY_INCOMPLETE


def test_a_release_that_breaks_its_window_does_not_make_an_occurrence_wait() -> None:
    verdict = judge(CALENDAR, applied_jitter_ms=3_600_000)
    assert verdict.decision is Decision.HOLD_JITTER_EXCEEDS_WINDOW


@pytest.mark.parametrize(
    ("base", "changes"), [(RETRY, {"now": "2026-03-03T02:00:08.999Z"}), (STALE, {}), (CALENDAR, LATE)]
)
def test_a_hold_decides_before_waiting_coalescing_and_running(base: dict[str, Any], changes: dict[str, Any]) -> None:
    assert judge(base, **changes, review_owner=ABSENT).decision is Decision.HOLD_REVIEW_OWNER_MISSING


def test_waiting_decides_before_coalescing() -> None:
    backoff = {"delay_ms": 60_000, "not_before": "2026-03-03T03:00:00Z"}
    assert judge(STALE, backoff_state=backoff).decision is Decision.RETRY_NOT_YET_DUE


def test_a_lease_is_asked_for_unless_it_is_certain_that_nothing_runs() -> None:
    assert judge(STALE, **NO_LEASE).holds == ()
    uncertain = judge(STALE, **NO_LEASE, schedule_expression="?")
    assert Decision.HOLD_LEASE_MISSING in uncertain.holds


def test_all_holds_are_reported_and_the_first_decides() -> None:
    verdict = judge(RETRY, attempt=4, review_owner=None, applied_jitter_ms=-1, lease_id=None, lease_claims=[])
    assert verdict.holds == (
        Decision.HOLD_REVIEW_OWNER_MISSING,
        Decision.HOLD_JITTER_EXCEEDS_WINDOW,
        Decision.HOLD_LEASE_MISSING,
        Decision.HOLD_RETRY_BUDGET_EXHAUSTED,
    )
    assert verdict.decision is verdict.holds[0]
    assert list(verdict.blocking_fields) == [
        "review_owner",
        "applied_jitter_ms",
        "jitter_window",
        "lease_id",
        "attempt",
        "retry_budget",
    ]


def test_the_scheduler_is_told_the_holds_that_no_lease_can_change() -> None:
    everything = read_case({"evidence": {}, "observed": {}})
    assert holds_before_lease(everything) == decide(everything).holds[:7]
    assert holds_before_lease(everything)[-1] is Decision.HOLD_JITTER_EXCEEDS_WINDOW
    unleased = read_case(change(CALENDAR, **NO_LEASE, attempt=9, prior_outcome="UNKNOWN"))
    assert holds_before_lease(unleased) == ()


def test_the_verdict_prints_in_the_published_shape() -> None:
    shown = judge(CALENDAR, attempt=4).to_dict()
    assert list(shown) == ["decision", "runs", "holds", "blocking_fields", "explanation", "review_owner"]
    assert shown["holds"] == ["HOLD_RETRY_BUDGET_EXHAUSTED", "HOLD_BACKOFF_STATE_MISSING"]
    assert (shown["decision"], shown["runs"], shown["review_owner"]) == (shown["holds"][0], False, "ann")
    assert type(shown["decision"]) is str


def test_the_explanation_tells_who_when_and_how_many() -> None:
    claims = [
        {"lease_id": f"lease-{n}", "lease_owner": owner, "lease_expires_at": f"2026-03-03T02:00:4{n}Z"}
        for n, owner in enumerate(["worker-a", "worker-b"])
    ]
    assert judge(CALENDAR, lease_claims=claims).explanation == (
        "docs@2026-03-03T02:00:00Z is held for ann: two unexpired leases claim it, worker-a until "
        "2026-03-03T02:00:40Z and worker-b until 2026-03-03T02:00:41Z."
    )


def test_an_exhausted_budget_tells_the_attempts_that_were_made_and_none_that_was_not() -> None:
    def said(attempt: int, budget: int) -> str:
        backoff = {"delay_ms": 0, "not_before": "2026-03-03T02:00:00Z"}
        why = judge(CALENDAR, attempt=attempt, retry_budget=budget, backoff_state=backoff).explanation
        return why.partition(" is held for ann: ")[2]

    assert said(2, 1) == "its only attempt was made and did not succeed; another would be beyond its budget."
    assert said(3, 2) == "both of its 2 attempts were made and none succeeded; another would be beyond its budget."
    assert said(4, 3) == "all of its 3 attempts were made and none succeeded; another would be beyond its budget."
    assert said(6, 3) == "5 attempts were made, its budget is 3, and none succeeded."


def test_what_holds_beside_the_decision_is_told_in_words() -> None:
    assert judge(CALENDAR, attempt=4).explanation.endswith(
        "; another would be beyond its budget. Beside that: no backoff state is known."
    )
    prior = judge(CALENDAR, prior_outcome="UNKNOWN", attempt=4, backoff_state=None).explanation
    assert prior.endswith(" Beside that: no attempt is shown to be left in its budget, and no backoff state is known.")


def test_the_explanation_stays_short_whatever_the_texts() -> None:
    owners = [
        {"lease_id": "l", "lease_owner": f"{n}" + "w" * 1_000, "lease_expires_at": "2027-01-01T00:00:00Z"}
        for n in range(50)
    ]
    verdict = judge(CALENDAR, review_owner="o" * 1_000, lease_claims=owners, run_state="HELD", attempt=99)
    assert len(verdict.explanation) <= 300
    assert verdict.explanation.endswith(
        "... Beside that: what earlier attempts left behind is not certain, no attempt is shown to be left in its "
        "budget, and no backoff state is known."
    )


def test_the_run_states_are_those_of_the_store() -> None:
    from duly.common.contract.case import RUN_STATES

    assert list(RUN_STATES) == [state.value for state in OccurrenceState]
