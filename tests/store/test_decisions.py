"""Every decision is kept with the evidence it was made from, and follows from it again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from duly.common.contract import Decision, decide, read_case, write_case
from duly.common.errors import Refused
from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.records.evidence import Evidence, RecordedDecision
from duly.common.records.occurrence import Effects
from duly.common.store.attempts import Carried, Claim, Ending
from duly.common.store.dispatch import DispatchOrder
from duly.common.store.holds import Resolution
from duly.worker.gate import judge
from tests.failover import forget_the_lease
from tests.store.conftest import Bench


def decided(bench: Bench, occurrence: Occurrence) -> list[str]:
    return [each.decision for each in bench.record(occurrence).decisions]


def last(bench: Bench, occurrence: Occurrence) -> RecordedDecision:
    return bench.record(occurrence).decisions[-1]


def test_a_run_is_recorded_with_the_evidence_that_allowed_it(bench: Bench) -> None:
    bench.add(spec="@every:1000", jitter_window_ms=0)
    occurrence = bench.due()
    lease = bench.running(occurrence)
    decision = last(bench, occurrence)
    assert decision.decision == "INTERVAL_RUN_REVIEW_REQUIRED"
    case = write_case(decision.case)
    assert case["evidence"]["lease_id"] == lease.token
    assert case["evidence"]["idempotency_key"] == bench.record(occurrence).idempotency_key
    assert case["evidence"]["run_state"] == "LEASED"
    assert case["observed"]["lease_claims"][0]["lease_owner"] == "w@1"
    assert len(case["evidence"]) == 18


def test_a_recorded_case_is_decided_the_same_from_a_file(bench: Bench) -> None:
    bench.add(spec="0 0 9 * * *", missed_run_policy="skip")
    occurrence = bench.store.manual.run("docs", "now").occurrence
    bench.running(occurrence)
    decision = last(bench, occurrence)
    from_file = read_case(json.loads(json.dumps(write_case(decision.case))))
    assert decide(from_file).decision == decision.decision == "CALENDAR_RUN_REVIEW_REQUIRED"


def test_every_attempt_adds_its_decision(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=2)
    occurrence = fake_bench.due()
    fake_bench.store.attempts.fail(fake_bench.running(occurrence), "ValueError")
    fake_bench.until(fake_bench.record(occurrence).not_before_ms or 0)
    fake_bench.sweep()
    fake_bench.store.attempts.fail(fake_bench.running(occurrence, 2), "ValueError")
    run = "INTERVAL_RUN_REVIEW_REQUIRED"
    assert decided(fake_bench, occurrence) == [run, run, "HOLD_RETRY_BUDGET_EXHAUSTED"]
    assert [d.case.attempt for d in fake_bench.record(occurrence).decisions] == [1, 2, 3]
    assert [e.decision for e in fake_bench.store.trails.runs("docs")[0] if e.decision][::-1] == [
        run,
        run,
        "HOLD_RETRY_BUDGET_EXHAUSTED",
    ]


def test_an_overdue_daily_run_is_a_bounded_catch_up(fake_bench: Bench) -> None:
    fake_bench.add(spec="0 0 9 * * *", missed_run_policy="run_once")
    record = fake_bench.store.schedules.get("docs")
    fake_bench.until((record.next_run_ms or 0) + 6 * 3_600_000)
    fake_bench.sweep()
    occurrence = Occurrence("docs", record.next_run_ms or 0)
    fake_bench.running(occurrence)
    assert last(fake_bench, occurrence).decision == "BOUNDED_CATCH_UP_REVIEW_REQUIRED"


@pytest.mark.parametrize(("over", "code"), [(False, "PRIOR_OUTCOME_UNKNOWN"), (True, "LEASE_EXPIRED_OUTCOME_UNKNOWN")])
def test_a_lost_run_is_held_for_what_was_lost(fake_bench: Bench, over: bool, code: str) -> None:
    fake_bench.add(spec="@every:3600000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    lease = fake_bench.running(occurrence)
    if over:
        fake_bench.pass_time(1_001)
        fake_bench.sweep()
    else:
        fake_bench.store.attempts.relinquish(lease, "timeout")
    assert fake_bench.record(occurrence).hold_reason == f"HOLD_{code}"
    assert last(fake_bench, occurrence).decision == f"HOLD_{code}"


def test_evidence_that_changed_since_it_was_read_is_decided_anew(bench: Bench) -> None:
    bench.add(spec="@every:60000")
    occurrence = bench.store.manual.run("docs", "k").occurrence
    lease = bench.lease(occurrence)
    seen = bench.store.attempts.evidence(occurrence)
    bench.store.schedules.update("docs", {"spec": "@every:7200000"})
    for carry_out in (
        lambda: bench.store.attempts.begin(lease, Effects.UNSAFE, judge(seen, Effects.UNSAFE)),
        lambda: bench.store.attempts.hold(lease, judge(seen, Effects.UNSAFE)),
        lambda: bench.store.attempts.hand_back(lease, judge(seen, Effects.UNSAFE), 0),
    ):
        answer = carry_out()
        assert answer.word is Carried.CHANGED
        assert answer.evidence is not None
        assert answer.evidence.fields["next_run_ms"] != seen.fields["next_run_ms"]
    assert bench.record(occurrence).state == "LEASED"
    assert bench.begin(lease) is Carried.BEGUN


def test_a_renewal_between_reading_and_beginning_is_no_change(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    occurrence = fake_bench.due()
    lease = fake_bench.lease(occurrence)
    seen = fake_bench.store.attempts.evidence(occurrence)
    fake_bench.pass_time(500)
    assert fake_bench.store.attempts.renew(lease)
    judgement = judge(seen, Effects.UNSAFE)
    assert fake_bench.store.attempts.begin(lease, Effects.UNSAFE, judgement).word is Carried.BEGUN


def test_a_tick_that_became_stale_under_its_lease_gives_way(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", lease_ttl_ms=5_000)
    occurrence = fake_bench.due()
    lease = fake_bench.lease(occurrence)
    fake_bench.pass_time(1_000)
    judgement = judge(fake_bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    assert judgement.decision is Decision.COALESCED_STALE_TICK
    for _ in range(2):
        assert fake_bench.store.attempts.hand_back(lease, judgement, 0).word is Carried.COALESCED
    assert fake_bench.record(occurrence).state == "COALESCED"
    assert not fake_bench.store.attempts.renew(lease)


def test_an_attempt_that_is_not_due_is_handed_back_uncounted(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    occurrence = fake_bench.due()
    lease = fake_bench.lease(occurrence)
    key, now_ms = fake_bench.store.keys.occurrence(occurrence), fake_bench.store.schedules.now_ms()
    fake_bench.backend.client.hset(key, mapping={"backoff_delay_ms": 9_000, "not_before_ms": now_ms + 9_000})
    judgement = judge(fake_bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    assert judgement.decision is Decision.RETRY_NOT_YET_DUE
    for _ in range(2):
        assert fake_bench.store.attempts.hand_back(lease, judgement, now_ms + 9_000).word is Carried.RELEASED
    record = fake_bench.record(occurrence)
    assert (record.state, record.attempt) == ("PENDING", 0)
    fake_bench.sweep()
    assert fake_bench.record(occurrence).job_id == ""
    fake_bench.pass_time(9_000)
    fake_bench.sweep()
    fake_bench.running(occurrence)


@pytest.mark.parametrize("field", ["idempotency_key", "review_owner", "model", "prior_outcome"])
def test_a_record_that_lost_a_field_is_held_and_names_it(bench: Bench, field: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.backend.client.hdel(bench.store.keys.occurrence(occurrence), field)
    lease = bench.lease(occurrence)
    judgement = judge(bench.store.attempts.evidence(occurrence), Effects.IDEMPOTENT)
    assert judgement.decision.holds
    assert bench.store.attempts.hold(lease, judgement).word is Carried.HELD
    names = {"model": "schedule_type"}.get(field, field)
    assert names in last(bench, occurrence).again().blocking_fields


def test_a_failure_whose_backoff_is_not_on_record_is_held(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.running(occurrence)
    bench.backend.client.hdel(bench.store.keys.occurrence(occurrence), "backoff_base_ms")
    assert bench.store.attempts.fail(lease, "ValueError") is Ending.HELD
    assert bench.held() == [(str(occurrence), "HOLD_BACKOFF_STATE_MISSING")]


@pytest.mark.parametrize("lost", ["lease_ttl_ms", "retry_budget"])
def test_a_record_without_its_limits_never_runs(bench: Bench, lost: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.backend.client.hdel(bench.store.keys.occurrence(occurrence), lost)
    grant = bench.acquire(occurrence)
    if grant.lease is not None and grant.evidence is not None:
        assert bench.store.attempts.hold(grant.lease, judge(grant.evidence, Effects.IDEMPOTENT)).word is Carried.HELD
    assert bench.record(occurrence).state == "HELD"


def test_a_lease_that_the_record_knows_nothing_of_is_a_concurrent_claim(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.backend.client.set(bench.store.keys.lease(occurrence), "foreign", px=60_000)
    assert bench.acquire(occurrence).claim is Claim.HELD
    assert bench.held() == [(str(occurrence), "HOLD_CONCURRENT_LEASE_CLAIM")]


@pytest.mark.parametrize("second_began", [True, False])
@pytest.mark.parametrize("first_says", ["renews", "completes"])
def test_two_owners_after_a_failover_are_held_with_both_claims_and_both_results(
    bench: Bench, second_began: bool, first_says: str
) -> None:
    bench.add(spec="@every:3600000", lease_ttl_ms=60_000)
    bench.add(schedule_id="later", spec="@every:100")
    occurrence = bench.store.manual.run("docs", "k").occurrence
    first = bench.running(occurrence)
    forget_the_lease(bench.store, occurrence)
    second = bench.lease(occurrence, 1, "w@2")
    seen = judge(bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    if second_began:
        assert bench.store.attempts.begin(second, Effects.UNSAFE, seen).word is Carried.BEGUN
    if first_says == "renews":
        assert not bench.store.attempts.renew(first)
    else:
        assert bench.store.attempts.complete(first, "first") is Ending.LATE
    record = bench.record(occurrence)
    assert (record.state, record.hold_reason) == ("HELD", "HOLD_CONCURRENT_LEASE_CLAIM")
    assert record.claims == {first.token: "w@1", second.token: "w@2"}
    claims = write_case(record.decisions[-1].case)["observed"]["lease_claims"]
    assert {claim["lease_owner"] for claim in claims} == {"w@1", "w@2"}
    assert bench.store.attempts.begin(second, Effects.UNSAFE, seen).word is Carried.LOST
    assert not bench.store.attempts.renew(second)
    assert bench.store.attempts.complete(first, "first") is Ending.LATE
    assert bench.store.attempts.complete(second, "second") is Ending.LATE
    kept = bench.record(occurrence).late_results
    assert sorted(kept.values()) == ["first", "second"]
    assert set(kept) == {str(first.fencing_token), str(second.fencing_token)}


def test_both_results_are_kept_when_the_failover_forgot_the_fencing_tokens_too(bench: Bench) -> None:
    bench.add(spec="@every:3600000", lease_ttl_ms=60_000)
    occurrence = bench.store.manual.run("docs", "k").occurrence
    fence = bench.backend.client.get(bench.store.keys.fence)
    first = bench.running(occurrence)
    forget_the_lease(bench.store, occurrence)
    bench.backend.client.set(bench.store.keys.fence, fence)
    second = bench.running(occurrence)
    assert first.fencing_token == second.fencing_token
    assert bench.store.attempts.complete(second, "second") is Ending.RECORDED
    assert bench.store.attempts.complete(first, "first") is Ending.LATE
    record = bench.record(occurrence)
    assert (record.state, record.hold_reason) == ("HELD", "HOLD_CONCURRENT_LEASE_CLAIM")
    assert sorted(record.late_results.values()) == ["first", "second"]


def test_later_ticks_of_a_contested_schedule_are_skipped(bench: Bench) -> None:
    bench.add(spec="@every:500", lease_ttl_ms=60_000)
    occurrence = bench.due()
    first = bench.running(occurrence)
    forget_the_lease(bench.store, occurrence)
    assert not bench.store.attempts.renew(first)
    bench.due_again()
    assert bench.events()[0][1:] == ("skipped", "quarantined")


def test_a_renewal_under_way_when_its_owner_let_go_is_no_claim(bench: Bench) -> None:
    bench.add(spec="@every:3600000", backoff={"base_ms": 0}, lease_ttl_ms=60_000)
    occurrence = bench.store.manual.run("docs", "k").occurrence
    former = bench.running(occurrence)
    assert bench.store.attempts.fail(former, "ValueError") is Ending.RETRY
    bench.sweep()
    bench.running(occurrence, 2)
    assert not bench.store.attempts.renew(former)
    assert bench.record(occurrence).state == "RUNNING"


def test_a_late_result_is_found_by_the_next_owner_before_it_begins(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    former = fake_bench.lease(occurrence)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    second = fake_bench.lease(occurrence, 2)
    seen = judge(fake_bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    assert seen.decision.runs
    assert fake_bench.store.attempts.complete(former, "written-anyway") is Ending.LATE
    answer = fake_bench.store.attempts.begin(second, Effects.UNSAFE, seen)
    assert answer.word is Carried.CHANGED
    assert answer.evidence is not None
    assert judge(answer.evidence, Effects.UNSAFE).decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN


def test_a_late_result_that_its_reviewer_has_seen_does_not_hold_again(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    former = fake_bench.running(occurrence)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    assert fake_bench.store.attempts.complete(former, "written-anyway") is Ending.LATE
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "the file was removed")
    fake_bench.sweep()
    present = fake_bench.running(occurrence, 2)
    assert fake_bench.store.attempts.complete(present, "new") is Ending.RECORDED


def doctor(bench: Bench, occurrence: Occurrence, **evidence: Any) -> None:
    bench.doctored = True
    key = bench.store.keys.occurrence(occurrence)
    kept = json.loads(bench.backend.client.hget(key, "decision:1"))
    kept["evidence"].update(evidence)
    bench.backend.client.hset(key, "decision:1", json.dumps(kept))


@pytest.mark.parametrize(
    ("evidence", "decision"),
    [
        ({"review_owner": ""}, "HOLD_REVIEW_OWNER_MISSING"),
        ({"prior_outcome": "UNKNOWN"}, "HOLD_PRIOR_OUTCOME_UNKNOWN"),
        ({"idempotency_key": "docs@1:0123456789abcdef"}, "HOLD_IDEMPOTENCY_KEY_MISSING"),
        ({"attempt": "4"}, "HOLD_RETRY_BUDGET_EXHAUSTED"),
        ({"lease_expires_ms": "1"}, "HOLD_LEASE_MISSING"),
        ({"now_ms": "1"}, "NOT_DUE"),
        ({"reconciled": ["odd"]}, "INTERVAL_RUN_REVIEW_REQUIRED"),
    ],
)
def test_a_doctored_record_is_decided_differently(bench: Bench, evidence: dict[str, Any], decision: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.running(occurrence)
    doctor(bench, occurrence, **evidence)
    assert last(bench, occurrence).decision == "INTERVAL_RUN_REVIEW_REQUIRED"
    assert last(bench, occurrence).again().decision == decision


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"decision": "x"}', '{"decision": 1, "evidence": 2}'])
def test_a_decision_that_cannot_be_read_holds_when_it_is_decided_again(bench: Bench, text: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.running(occurrence)
    bench.doctored = True
    bench.backend.client.hset(bench.store.keys.occurrence(occurrence), "decision:1", text)
    assert last(bench, occurrence).again().decision.holds


def test_the_sweep_holds_a_tick_that_lies_before_a_finished_run(bench: Bench) -> None:
    bench.add(spec="@every:500")
    first = bench.due()
    bench.store.attempts.complete(bench.running(first), "")
    second = bench.due()
    bench.store.attempts.complete(bench.running(second), "")
    key = bench.store.keys.schedule("docs")
    bench.backend.client.hset(key, mapping={"next_run_ms": first.tick_ms - 500, "last_tick_ms": -1})
    bench.backend.client.hset(key, "finished", f"{second.tick_ms + 3_600_000}")
    bench.backend.client.zadd(bench.store.keys.due, {"docs": 0})
    bench.backend.client.delete(*(bench.store.keys.occurrence(each) for each in (first, second)))
    bench.sweep()
    assert [reason for _, reason in bench.held()] == ["HOLD_CHRONOLOGY_INVALID"]
    assert bench.events()[0][1:] == ("skipped", "quarantined")


def test_an_order_that_would_go_back_in_time_is_held(bench: Bench) -> None:
    bench.add(spec="@every:500")
    record = bench.store.schedules.get("docs")
    assert record.next_run_ms is not None
    bench.until(record.next_run_ms)
    bench.take_duty()
    survey = bench.store.sweeping.surveying(bench.token, 60_000, 10).survey()
    assert survey is not None
    back_ms = record.next_run_ms - 500
    order = DispatchOrder(survey.schedules[0], record.definition.queue, "1", [], None, back_ms, back_ms)
    replies = bench.store.sweeping.dispatch(bench.token, [order], survey.now_ms, 1_000)
    assert replies is not None
    assert replies[0].word == "backwards"
    assert bench.held() == [(f"docs@{record.next_run_ms}", "HOLD_CHRONOLOGY_INVALID")]


def test_an_edit_of_the_timing_leaves_the_evidence_of_open_occurrences_consistent(bench: Bench) -> None:
    bench.add(spec="@every:500", missed_run_policy="backfill", backfill_limit=5)
    first = bench.due()
    bench.store.attempts.complete(bench.running(first), "")
    second = bench.due()
    bench.store.schedules.update("docs", {"spec": "@every:700"})
    bench.running(second)
    assert write_case(last(bench, second).case)["evidence"]["next_run_at"] is not None
    bench.store.attempts.complete(bench.lease_of(second), "")
    third = bench.due()
    bench.running(third)


def test_the_last_tick_of_a_schedule_gives_way_to_nothing(fake_bench: Bench) -> None:
    start_ms = fake_bench.store.schedules.now_ms()
    fake_bench.add(spec="@every:1000", end_at=to_rfc3339(start_ms + 1_000))
    occurrence = fake_bench.due()
    fake_bench.pass_time(10_000)
    fake_bench.running(occurrence)
    assert last(fake_bench, occurrence).decision == "INTERVAL_RUN_REVIEW_REQUIRED"


@pytest.mark.parametrize("found_by", ["probe", "reviewer"])
def test_a_result_that_comes_after_its_effect_was_found_is_kept_and_holds_nothing(
    fake_bench: Bench, found_by: str
) -> None:
    fake_bench.add(spec="@every:3600000", lease_ttl_ms=1_000, backoff={"base_ms": 0})
    occurrence = fake_bench.due()
    owner = fake_bench.running(occurrence, effects=Effects.GUARDED if found_by == "probe" else Effects.UNSAFE)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    if found_by == "probe":
        fake_bench.store.attempts.commit_by_probe(fake_bench.lease(occurrence, 2), "probe: COMMITTED")
    else:
        fake_bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "it is there")
    for _ in range(2):
        assert fake_bench.store.attempts.complete(owner, "etag:7") is Ending.LATE
    record = fake_bench.record(occurrence)
    assert record.state == "SUCCEEDED"
    assert record.late_results == {str(owner.fencing_token): "etag:7"}


def test_a_stale_tick_that_somebody_may_be_at_work_on_is_held_and_gives_way_to_nothing(bench: Bench) -> None:
    bench.add(spec="@every:500")
    bench.add(schedule_id="other", spec="@every:500")
    first = bench.due()
    other = Occurrence("other", first.tick_ms)
    for occurrence in (first, other):
        bench.backend.client.set(bench.store.keys.lease(occurrence), "foreign", px=60_000)
    bench.due_again()
    assert [reason for _, reason in bench.held()] == ["HOLD_CONCURRENT_LEASE_CLAIM"] * 2


def test_a_claim_that_finds_a_newer_tick_due_and_a_lease_of_nobody_is_held(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    first = fake_bench.due()
    fake_bench.backend.client.set(fake_bench.store.keys.lease(first), "foreign", px=60_000)
    fake_bench.pass_time(1_000)
    assert fake_bench.acquire(first).claim is Claim.HELD


def test_no_late_renewal_of_a_lease_that_its_owner_let_go_of_is_a_claim(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", backoff={"base_ms": 0}, lease_ttl_ms=60_000, retry_budget=9)
    occurrence = fake_bench.due()
    let_go = []
    for attempt in range(1, 6):
        let_go.append(fake_bench.running(occurrence, attempt))
        if attempt % 2:
            fake_bench.store.attempts.fail(let_go[-1], "ValueError")
        else:
            fake_bench.store.attempts.relinquish(let_go[-1], "timeout")
            fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", f"look {attempt}")
        fake_bench.sweep()
    fake_bench.running(occurrence, 6)
    assert not any(fake_bench.store.attempts.renew(each) for each in let_go)
    assert fake_bench.record(occurrence).state == "RUNNING"


@pytest.mark.parametrize("over", [True, False])
@pytest.mark.parametrize("prior", ["UNKNOWN", "NO_COMMITTED_RESULT"])
def test_who_dies_while_it_looks_at_a_spent_budget_leaves_a_hold_and_no_loop(
    fake_bench: Bench, prior: str, over: bool
) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=1, backoff={"base_ms": 0}, lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    fake_bench.store.attempts.relinquish(fake_bench.running(occurrence, effects=Effects.GUARDED), "worker_died")
    fake_bench.sweep()
    key = fake_bench.store.keys.occurrence(occurrence)
    fake_bench.backend.client.hset(key, "prior_outcome", prior)
    lease = fake_bench.lease(occurrence, 2)
    if over:
        fake_bench.pass_time(1_001)
        fake_bench.sweep()
    else:
        assert fake_bench.store.attempts.relinquish(lease, "worker_died") is Ending.HELD
    record = fake_bench.record(occurrence)
    assert (record.state, record.attempt) == ("HELD", 1)
    assert record.cause == ("lease_expired" if over else "worker_died")


@pytest.mark.parametrize(("reason", "cause"), [("timeout", "timeout"), ("OutcomeUnknown from KeyError",) * 2])
def test_a_hold_remembers_what_ended_its_attempt(bench: Bench, reason: str, cause: str) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.store.attempts.relinquish(bench.running(occurrence), reason)
    assert bench.record(occurrence).cause == cause
    assert bench.record(occurrence).decisions[-1].again().holds == (Decision.HOLD_PRIOR_OUTCOME_UNKNOWN,)


def test_a_claim_that_is_over_keeps_no_tick_from_giving_way(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:10000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence)
    forget_the_lease(fake_bench.store, occurrence)
    assert not fake_bench.store.attempts.renew(first)
    with pytest.raises(Refused, match="is claimed by an owner whose lease lasts until"):
        fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    fake_bench.pass_time(1_001)
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    fake_bench.due_again()
    assert fake_bench.record(occurrence).state == "COALESCED"


def test_evidence_that_names_no_version_is_answered_by_what_there_is(fake_bench: Bench) -> None:
    fake_bench.add()
    occurrence = fake_bench.due()
    lease = fake_bench.lease(occurrence)
    judgement = judge(fake_bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    fields = {name: value for name, value in judgement.evidence.fields.items() if name != "version"}
    older = replace(judgement, evidence=Evidence.from_text(occurrence, json.dumps(fields)))
    answer = fake_bench.store.attempts.begin(lease, Effects.UNSAFE, older)
    assert answer.word is Carried.CHANGED
    assert answer.evidence is not None
    anew = judge(answer.evidence, Effects.UNSAFE)
    assert fake_bench.store.attempts.begin(lease, Effects.UNSAFE, anew).word is Carried.BEGUN
