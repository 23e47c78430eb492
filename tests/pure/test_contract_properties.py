"""What is true of every case, however strange."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from duly.common.contract import GATES, Decision, decide, holds_before_lease, read_case, standing_holds, write_case
from duly.common.contract.fields import ALL
from tests.pure.contract_cases import (
    ABSENT,
    CALENDAR,
    DUE_MS,
    EARLIER_MS,
    INTERVAL,
    LATER_MS,
    MANUAL,
    NO_LEASE,
    OBSERVED,
    RETRY,
    STALE,
    change,
    claim,
)

NAMES = [field.name for field in ALL]
ORDER = [gate.hold for gate in GATES]
BASES = [CALENDAR, INTERVAL, RETRY, STALE, MANUAL, change(RETRY, **NO_LEASE), change(STALE, **NO_LEASE)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
INSTANTS = st.sampled_from(
    [
        "2026-03-02T02:00:00Z",
        "2026-03-03T02:00:00Z",
        "2026-03-03T02:00:00.001Z",
        "2026-03-03T02:05:00Z",
        "2026-03-04T02:00:00Z",
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ]
)
COUNTS = st.sampled_from([1, 2, 3, 4])
# Values that can be read, whether or not they go together.
READABLE: dict[str, st.SearchStrategy[Any]] = {
    "job_id": st.sampled_from(["docs", "feed", "a b"]),
    "schedule_type": st.sampled_from(["calendar", "interval", "monthly"]),
    "schedule_expression": st.sampled_from(["0 3 * * *", "CRON_TZ=UTC 0 2 * * *", "@every:300000", "@daily"]),
    "timezone": st.sampled_from(["Europe/Paris", "UTC", "Mars/Olympus"]),
    "last_run_at": st.none() | INSTANTS,
    "next_run_at": INSTANTS,
    "missed_run_policy": st.sampled_from(
        ["SKIP", "SINGLE_BOUNDED_CATCH_UP", "COALESCE_STALE_TICKS", "BACKFILL_BOUNDED", "UNKNOWN", "run_once"]
    ),
    "jitter_window": st.sampled_from([0, 60_000]),
    "lease_id": st.sampled_from([None, "lease-1", "lease-2"]),
    "lease_owner": st.sampled_from([None, "worker-a", "worker-b"]),
    "lease_expires_at": st.none() | INSTANTS,
    "idempotency_key": st.sampled_from([f"docs@{ms}:0123456789abcdef" for ms in (EARLIER_MS, DUE_MS, LATER_MS)]),
    "attempt": COUNTS,
    "retry_budget": COUNTS,
    "backoff_state": st.none() | st.builds(lambda at: {"delay_ms": 1, "not_before": at}, INSTANTS),
    "run_state": st.sampled_from(["PENDING", "LEASED", "RUNNING", "RETRY_WAIT", "HELD", "SUCCEEDED", "ABANDONED"]),
    "result_ref": st.sampled_from([None, "s3://diffs/1"]),
    "review_owner": st.just("ann"),
    "now": INSTANTS,
    "occurrence": INSTANTS,
    "prior_outcome": st.sampled_from(["NONE", "COMMITTED", "NO_COMMITTED_RESULT", "UNKNOWN"]),
    "lease_claims": st.lists(
        st.builds(claim, st.sampled_from(["lease-1", "lease-2"]), st.sampled_from(["worker-a", "worker-b"]), INSTANTS),
        max_size=2,
    ),
    "applied_jitter_ms": st.sampled_from([-1, 0, 5_000, 60_001, 2**53]),
    "trigger": st.sampled_from(["timetable", "manual", "cron"]),
    "later_tick": st.none() | INSTANTS,
}
CASES = st.builds(
    lambda base, changes: change(base, **changes),
    st.sampled_from(BASES),
    st.fixed_dictionaries({}, optional=READABLE),
)


def broken(raw: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """The case with fields that cannot be read any more; the optional ones by a value, as absence has a meaning."""
    return change(raw, **{name: {} if name in {"trigger", "later_tick", "lease_claims"} else ABSENT for name in names})


@given(CASES, st.dictionaries(st.sampled_from(NAMES), JSON))
def test_whatever_json_is_in_the_fields_there_is_a_verdict(raw: dict[str, Any], changes: dict[str, Any]) -> None:
    case = read_case(change(raw, **changes))
    verdict = decide(case)
    assert verdict.decision.holds == bool(verdict.holds) == bool(verdict.blocking_fields)
    assert list(verdict.holds) == sorted(set(verdict.holds), key=ORDER.index)
    assert verdict.decision is (verdict.holds or (verdict.decision,))[0]
    assert len(set(verdict.blocking_fields)) == len(verdict.blocking_fields)
    assert set(verdict.blocking_fields) <= set(NAMES)
    assert 0 < len(verdict.explanation) <= 300
    assert verdict.explanation.isprintable()
    assert read_case(write_case(case)) == case


@given(CASES, st.sets(st.sampled_from([name for name in NAMES if name != "missed_run_policy"])))
def test_making_a_field_unreadable_never_takes_a_hold_away(raw: dict[str, Any], names: set[str]) -> None:
    before, after = decide(read_case(raw)), decide(read_case(broken(raw, names)))
    assert set(before.holds) <= set(after.holds)
    assert before.runs or not after.runs


@given(
    st.sampled_from(BASES),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
)
def test_the_more_is_unreadable_the_more_holds(raw: dict[str, Any], some: set[str], more: set[str]) -> None:
    fewer, all_of_them = decide(read_case(broken(raw, some))), decide(read_case(broken(raw, some | more)))
    assert set(fewer.holds) <= set(all_of_them.holds)


@given(CASES)
def test_nothing_runs_without_its_lease_its_key_its_budget_and_its_owner(raw: dict[str, Any]) -> None:
    verdict = decide(read_case(raw))
    if not verdict.runs:
        return
    evidence, observed = raw["evidence"], raw["observed"]
    assert evidence["lease_id"]
    assert evidence["lease_owner"]
    assert evidence["lease_expires_at"] > observed["now"] >= observed["occurrence"]
    assert evidence["attempt"] <= evidence["retry_budget"]
    assert evidence["review_owner"] == "ann"
    assert observed["prior_outcome"] in {"NONE", "NO_COMMITTED_RESULT"}
    assert evidence["run_state"] in {"PENDING", "LEASED", "RETRY_WAIT"}


@given(CASES, CASES)
def test_what_every_tick_of_a_schedule_meets_is_asked_once(raw: dict[str, Any], other: dict[str, Any]) -> None:
    case, tick = read_case(raw), read_case(other)
    another = replace(
        case,
        occurrence_ms=tick.occurrence_ms,
        idempotency_key=tick.idempotency_key,
        now_ms=tick.now_ms,
        last_run_ms=tick.last_run_ms,
        next_run_ms=tick.next_run_ms,
        later_tick_ms=tick.later_tick_ms,
        trigger=tick.trigger,
        applied_jitter_ms=tick.applied_jitter_ms,
    )
    standing = standing_holds(case)
    assert standing_holds(another) == standing
    assert holds_before_lease(another, standing) == holds_before_lease(another)


@given(CASES)
def test_the_scheduler_hears_no_hold_that_the_worker_would_not(raw: dict[str, Any]) -> None:
    case = read_case(raw)
    verdict = decide(case)
    if verdict.holds:
        early = [hold for hold in verdict.holds if ORDER.index(hold) < 7]
        assert list(holds_before_lease(case)) == early
    elif verdict.decision not in {Decision.ALREADY_COMMITTED, Decision.NOT_DUE}:
        assert holds_before_lease(case) == ()


@given(CASES)
def test_the_order_of_the_keys_of_a_file_changes_nothing(raw: dict[str, Any]) -> None:
    turned = {part: dict(reversed(fields.items())) for part, fields in reversed(raw.items())}
    assert decide(read_case(turned)) == decide(read_case(raw))


def test_the_fields_of_these_cases_are_all_there_are() -> None:
    assert set(READABLE) == set(NAMES)
    assert set(NAMES) >= OBSERVED
