"""Every field: absent, null, malformed, and what each of these holds."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from duly.common.contract import UNREADABLE, read_case
from duly.common.contract.fields import ALL, EVIDENCE, OBSERVED
from tests.pure.contract_cases import ABSENT, CALENDAR, change, holds, judge

TEXTS = [True, 1, 1.5, [], {}, "", "   ", "a\x00b", "a\nb", "\u202e", "\ud800", "x" * 1_025]
INTEGERS = [True, False, 1.0, "1", [], {}, 2**53 + 1, -(2**53) - 1, float("inf")]
INSTANTS = [
    True,
    0,
    1_772_503_200_000,
    [],
    {},
    "",
    "yesterday",
    "2026-03-03",
    "2026-03-03T02:00:00",
    "2026-02-30T02:00:00Z",
    "1969-12-31T23:59:59Z",
]
CLAIM = {"lease_id": "l", "lease_owner": "w", "lease_expires_at": "2026-03-01T00:00:00Z"}

# Each field: what it must not be, and what holds when it is, or when it is not there.
FIELDS: dict[str, tuple[list[Any], str]] = {
    "job_id": (TEXTS, "SCHEDULE_IDENTITY_INCOMPLETE IDEMPOTENCY_KEY_MISSING"),
    "schedule_type": (TEXTS, "SCHEDULE_IDENTITY_INCOMPLETE POLICY_NOT_RECOMPUTED"),
    "schedule_expression": (TEXTS, "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID"),
    "timezone": (TEXTS, "SCHEDULE_IDENTITY_INCOMPLETE CHRONOLOGY_INVALID"),
    "last_run_at": (INSTANTS, "CHRONOLOGY_INVALID"),
    "next_run_at": (INSTANTS, "CHRONOLOGY_INVALID"),
    "missed_run_policy": ([*TEXTS, "skip", "UNKNOWN"], "MISSED_RUN_POLICY_UNKNOWN"),
    "jitter_window": ([*INTEGERS, -1], "JITTER_EXCEEDS_WINDOW"),
    "lease_id": (TEXTS, "CONCURRENT_LEASE_CLAIM LEASE_MISSING"),
    "lease_owner": (TEXTS, "CONCURRENT_LEASE_CLAIM LEASE_MISSING"),
    "lease_expires_at": (INSTANTS, "LEASE_MISSING"),
    "idempotency_key": (TEXTS, "IDEMPOTENCY_KEY_MISSING"),
    "attempt": ([*INTEGERS, 0], "RETRY_BUDGET_EXHAUSTED BACKOFF_STATE_MISSING"),
    "retry_budget": ([*INTEGERS, 0], "RETRY_BUDGET_EXHAUSTED"),
    "backoff_state": (
        [
            True,
            "",
            [],
            {},
            {"delay_ms": 1},
            {"delay_ms": 1.0, "not_before": "2026-03-03T02:00:00Z"},
            {"delay_ms": 1, "not_before": 1_772_503_200_000},
            {"delay_ms": 1, "not_before": "2026-03-03T02:00:00Z", "factor": 2},
        ],
        "BACKOFF_STATE_MISSING",
    ),
    "run_state": ([*TEXTS, "leased", "DONE"], "PRIOR_OUTCOME_UNKNOWN"),
    "result_ref": (TEXTS, "PRIOR_OUTCOME_UNKNOWN"),
    "review_owner": (TEXTS, "REVIEW_OWNER_MISSING"),
    "now": (INSTANTS, "CHRONOLOGY_INVALID LEASE_MISSING"),
    "occurrence": (INSTANTS, "IDEMPOTENCY_KEY_MISSING CHRONOLOGY_INVALID"),
    "prior_outcome": ([*TEXTS, "none", "SURE"], "PRIOR_OUTCOME_UNKNOWN"),
    "lease_claims": (
        [{}, "", True, [None], [[]], [{}], [CLAIM, {**CLAIM, "lease_id": ""}], [{**CLAIM, "lease_owner": 1}]],
        "CONCURRENT_LEASE_CLAIM",
    ),
    "applied_jitter_ms": (INTEGERS, "JITTER_EXCEEDS_WINDOW"),
    "trigger": ([*TEXTS, "TIMETABLE"], "CHRONOLOGY_INVALID"),
    "later_tick": (INSTANTS, "CHRONOLOGY_INVALID"),
}
NULL_SPEAKS = {
    "last_run_at",
    "lease_id",
    "lease_owner",
    "lease_expires_at",
    "backoff_state",
    "result_ref",
    "later_tick",
}
OPTIONAL = {"trigger", "later_tick"}
MALFORMED = [(name, value) for name, (values, _) in FIELDS.items() for value in values]
ATTRIBUTES = {field.name: field.attribute for field in ALL}


def test_every_field_is_looked_at_here() -> None:
    assert list(FIELDS) == [field.name for field in ALL]
    assert (len(EVIDENCE), len(OBSERVED)) == (18, 5)


@pytest.mark.parametrize(("name", "value"), MALFORMED)
def test_a_malformed_field_holds_under_the_codes_of_its_gates_and_is_named(name: str, value: Any) -> None:
    verdict = judge(CALENDAR, **{name: value})
    assert holds(CALENDAR, **{name: value}) == FIELDS[name][1].split()
    assert name in verdict.blocking_fields


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in OPTIONAL])
def test_an_absent_field_is_as_good_as_a_malformed_one(name: str) -> None:
    assert holds(CALENDAR, **{name: ABSENT}) == FIELDS[name][1].split()
    assert name in judge(CALENDAR, **{name: ABSENT}).blocking_fields


@pytest.mark.parametrize("name", [name for name in FIELDS if name not in NULL_SPEAKS])
def test_null_says_nothing_where_there_must_be_something(name: str) -> None:
    assert holds(CALENDAR, **{name: None}) == FIELDS[name][1].split()


@pytest.mark.parametrize("name", sorted(NULL_SPEAKS))
def test_null_is_read_where_it_means_that_there_is_none(name: str) -> None:
    assert getattr(read_case(change(CALENDAR, **{name: None})), ATTRIBUTES[name]) is None


@pytest.mark.parametrize("name", sorted(OPTIONAL))
def test_an_optional_field_that_is_absent_has_its_default(name: str) -> None:
    assert holds(CALENDAR, **{name: ABSENT}) == []
    assert getattr(read_case(CALENDAR), ATTRIBUTES[name]) is not UNREADABLE


def test_a_text_that_cannot_be_encoded_is_not_printed() -> None:
    verdict = judge(CALENDAR, job_id="\ud800", review_owner="\ud800")
    assert verdict.review_owner is None
    verdict.explanation.encode()


@pytest.mark.skipif(
    not hasattr(sys, "get_int_max_str_digits"), reason="long integers are printed whatever their length"
)
def test_an_integer_too_long_to_be_printed_is_never_printed() -> None:
    assert holds(CALENDAR, attempt=10**5_000) == ["RETRY_BUDGET_EXHAUSTED", "BACKOFF_STATE_MISSING"]
