"""What an earlier owner may have done is a question until somebody answers it: nothing else closes it."""

from __future__ import annotations

import json

import pytest

from duly.common.contract import Decision
from duly.common.errors import InvalidField
from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects, OccurrenceState
from duly.common.store import carry
from duly.common.store.attempts import Carried, Claim, Ending, Lease
from duly.common.store.holds import Resolution
from duly.worker.gate import judge
from tests.failover import forget_the_lease
from tests.store.conftest import Bench, definition

HOUR = {"spec": "@every:3600000", "backoff": {"base_ms": 0}, "lease_ttl_ms": 1_000, "retry_budget": 9}


def lost(bench: Bench, effects: Effects, **fields: object) -> tuple[Occurrence, Lease]:
    """An occurrence whose first owner's lease expired during the work, and that owner's lease."""
    bench.add(**{**HOUR, **fields})
    occurrence = bench.due()
    lease = bench.running(occurrence, effects=effects)
    bench.pass_time(1_001)
    bench.sweep()
    return occurrence, lease


def test_a_late_result_during_the_next_attempt_outlives_that_attempt_s_failure(fake_bench: Bench) -> None:
    occurrence, first = lost(fake_bench, Effects.GUARDED)
    second = fake_bench.running(occurrence, 2, Effects.GUARDED)
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    assert fake_bench.store.attempts.fail(second, "ValueError") is Ending.HELD
    assert fake_bench.record(occurrence).hold_reason == "HOLD_PRIOR_OUTCOME_UNKNOWN"


@pytest.mark.parametrize("effects", [Effects.GUARDED, Effects.IDEMPOTENT])
def test_a_late_result_beats_what_a_probe_or_a_declaration_said_before(fake_bench: Bench, effects: Effects) -> None:
    occurrence, first = lost(fake_bench, effects)
    second = fake_bench.lease(occurrence, 2)
    seen = judge(fake_bench.store.attempts.evidence(occurrence), effects, "NO_COMMITTED_RESULT")
    assert seen.decision.runs
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    answer = fake_bench.store.attempts.begin(second, effects, seen)
    assert answer.word is Carried.CHANGED
    assert answer.evidence is not None
    again = judge(answer.evidence, effects, "NO_COMMITTED_RESULT")
    assert again.decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN
    assert fake_bench.store.attempts.hold(second, again).word is Carried.HELD


def test_a_probe_that_finds_the_effect_bears_a_late_result_out(fake_bench: Bench) -> None:
    occurrence, first = lost(fake_bench, Effects.GUARDED)
    second = fake_bench.lease(occurrence, 2)
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    assert fake_bench.store.attempts.commit_by_probe(second, "probe: COMMITTED") is Ending.RECORDED
    assert fake_bench.record(occurrence).late_results == {str(first.fencing_token): "first"}


def test_a_result_that_comes_after_its_hold_was_resolved_holds_the_next_attempt(fake_bench: Bench) -> None:
    occurrence, first = lost(fake_bench, Effects.UNSAFE)
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    fake_bench.sweep()
    fake_bench.lease(occurrence, 2)
    evidence = fake_bench.store.attempts.evidence(occurrence)
    assert judge(evidence, Effects.UNSAFE).decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN


@pytest.mark.parametrize("closes", ["newer tick", "claim", "lateness", "deletion"])
def test_a_result_of_a_forgotten_attempt_is_closed_by_nothing_but_a_person(fake_bench: Bench, closes: str) -> None:
    more = {"max_lateness_ms": 1_500} if closes == "lateness" else {}
    fake_bench.add(spec="@every:2000", lease_ttl_ms=1_000, **more)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence)
    forget_the_lease(fake_bench.store, occurrence)
    fake_bench.pass_time(1_001)
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    assert fake_bench.record(occurrence).state == "PENDING"
    if closes == "deletion":
        fake_bench.store.schedules.delete("docs")
    else:
        fake_bench.pass_time(600 if closes == "lateness" else 999)
        if closes != "newer tick":
            fake_bench.acquire(occurrence)
        fake_bench.sweep()
    if closes == "claim":
        assert fake_bench.record(occurrence).state in {"HELD", "LEASED"}
    else:
        assert fake_bench.record(occurrence).state == "HELD"


def test_a_forgotten_owner_that_gives_up_is_a_claim_too(fake_bench: Bench) -> None:
    fake_bench.add(**HOUR)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence)
    forget_the_lease(fake_bench.store, occurrence)
    assert fake_bench.store.attempts.relinquish(first, "timeout") is Ending.LOST
    assert fake_bench.record(occurrence).hold_reason == "HOLD_CONCURRENT_LEASE_CLAIM"


def test_nobody_begins_while_an_owner_that_was_not_told_may_be_at_work(fake_bench: Bench) -> None:
    fake_bench.add(**{**HOUR, "lease_ttl_ms": 20_000})
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence)
    forget_the_lease(fake_bench.store, occurrence)
    fake_bench.pass_time(15_000)
    second = fake_bench.running(occurrence)
    fake_bench.store.attempts.renew(first)
    fake_bench.pass_time(6_000)  # the first one's lease is over, the second one's is not
    with pytest.raises(Exception, match="claimed by an owner"):
        fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    fake_bench.until(second.expires_ms + 1)
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")


def test_a_claim_that_is_repeated_is_no_news_to_its_reviewer(fake_bench: Bench) -> None:
    fake_bench.add(**HOUR)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence)
    forget_the_lease(fake_bench.store, occurrence)
    fake_bench.store.attempts.renew(first)
    seen = fake_bench.record(occurrence).version
    for _ in range(3):
        fake_bench.store.attempts.renew(first)
    assert fake_bench.record(occurrence).version == seen


@pytest.mark.parametrize("fields", [{}, {"jitter_window_ms": 900}])
def test_a_tick_does_not_give_way_to_one_that_a_hold_will_skip(fake_bench: Bench, fields: dict[str, int]) -> None:
    fake_bench.add(spec="@every:1000", overlap="allow", **fields)
    first = fake_bench.due()
    other = fake_bench.store.manual.run("docs", "k").occurrence
    fake_bench.store.attempts.relinquish(fake_bench.running(other), "timeout")
    fake_bench.until(first.tick_ms + 2_000)
    assert fake_bench.acquire(first).claim is Claim.WAITING
    fake_bench.sweep()
    fake_bench.store.holds.resolve(other, Resolution.ABANDONED, "ann", "seen")
    assert fake_bench.record(first).state == "PENDING"


def test_a_tick_does_not_give_way_to_one_that_is_not_released_yet(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", jitter_window_ms=900)
    first = fake_bench.due()
    record = fake_bench.store.schedules.get("docs")
    assert record.next_run_ms is not None
    release_ms = record.definition.timetable.release_ms(record.next_run_ms)
    assert release_ms > record.next_run_ms
    fake_bench.until(release_ms - 1)
    fake_bench.running(first)


def test_a_tick_does_not_give_way_to_one_that_another_run_makes_the_sweep_skip(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", lease_ttl_ms=60_000)
    first = fake_bench.due()
    run = fake_bench.store.manual.run("docs", "k").occurrence
    lease = fake_bench.running(run)
    fake_bench.pass_time(1_000)
    assert fake_bench.acquire(first).claim is Claim.WAITING
    fake_bench.sweep()
    fake_bench.store.attempts.complete(lease, "")
    fake_bench.running(first)


def test_a_run_that_was_approved_gives_way_to_none_that_was_not(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", approval="required")
    first = fake_bench.due()
    fake_bench.store.holds.approve(first, "ann")
    fake_bench.due()
    assert fake_bench.record(first).state == "PENDING"
    fake_bench.running(first)


@pytest.mark.parametrize("same_work", [True, False])
def test_what_is_tried_again_after_its_definition_was_edited_away_runs_the_same_work_or_nothing(
    fake_bench: Bench, same_work: bool
) -> None:
    occurrence, first = lost(fake_bench, Effects.IDEMPOTENT)
    fake_bench.store.attempts.complete(fake_bench.running(occurrence, 2, Effects.IDEMPOTENT), "second")
    fake_bench.store.schedules.update("docs", {"retry_budget": 20} if same_work else {"args": ["other"]})
    assert fake_bench.store.attempts.complete(first, "first") is Ending.LATE
    fake_bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    fake_bench.sweep()
    if same_work:
        fake_bench.running(occurrence, 3)
        return
    assert fake_bench.acquire(occurrence, 3).claim is Claim.HELD
    record = fake_bench.record(occurrence)
    assert (record.hold_reason, record.cause) == ("HOLD_SCHEDULE_IDENTITY_INCOMPLETE", "definition_forgotten")
    assert record.attempt == 2


def test_a_release_that_is_asked_for_again_is_one(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    occurrence = fake_bench.due()
    fake_bench.store.attempts.relinquish(fake_bench.running(occurrence), "timeout")
    fake_bench.pass_time(5_000)
    fake_bench.sweep()
    fake_bench.store.holds.resolve(occurrence, Resolution.ABANDONED, "ann", "seen")
    assert {fake_bench.store.schedules.release("docs") for _ in range(30)} == {occurrence.tick_ms + 5_000}
    assert len(carry.load(fake_bench.store.schedules.get("docs").carry)) == 1


def test_a_deletion_ends_what_waits_for_a_retry_and_starves_no_successor(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", backoff={"base_ms": 3_600_000, "max_ms": 3_600_000})
    occurrence = fake_bench.due()
    fake_bench.store.attempts.fail(fake_bench.running(occurrence), "ValueError")
    fake_bench.store.schedules.delete("docs")
    assert fake_bench.record(occurrence).state == "CANCELLED"
    fake_bench.add(spec="@every:1000")
    fake_bench.running(fake_bench.due())


def test_a_lease_is_over_in_the_very_millisecond_of_its_end(fake_bench: Bench) -> None:
    fake_bench.add(**{**HOUR, "retry_budget": 1})
    occurrence = fake_bench.due()
    lease = fake_bench.running(occurrence)
    fake_bench.until(lease.expires_ms)
    assert fake_bench.store.attempts.fail(lease, "ValueError") is Ending.LATE


@pytest.mark.parametrize("attempts", [1, 9])
def test_a_report_that_is_sent_again_gets_its_answer_again(fake_bench: Bench, attempts: int) -> None:
    fake_bench.add(**{**HOUR, "retry_budget": attempts})
    occurrence = fake_bench.due()
    lease = fake_bench.running(occurrence)
    first = fake_bench.store.attempts.fail(lease, "ValueError")
    fake_bench.sweep()
    assert fake_bench.store.attempts.fail(lease, "ValueError") is first
    assert "late_failure" not in fake_bench.history()
    other = fake_bench.store.manual.run("docs", "k").occurrence if attempts > 1 else None
    if other is not None:
        fake_bench.store.attempts.complete(fake_bench.running(occurrence, 2), "")
        lease = fake_bench.running(other)
        assert [fake_bench.store.attempts.relinquish(lease, "timeout") for _ in range(2)] == [Ending.HELD] * 2


def carried_with(*where: object) -> str:
    """Carried ticks with a good definition."""
    return json.dumps([[definition().to_json(), *where]])


@pytest.mark.parametrize(
    "text",
    [
        *("[[", "[[1]]", "[[1,2,3,4,5,6,7]]", "7", "[]", "{}", "null"),
        *(
            carried_with(1, "x", 5, False),
            carried_with(1, 5, None, False),
            carried_with(True, 5, 5),
            carried_with(1, 5, 5, 0),
        ),
    ],
)
def test_carried_ticks_that_cannot_be_read_starve_no_other_schedule(fake_bench: Bench, text: str) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.add(schedule_id="other", spec="@every:1000")
    fake_bench.backend.client.hset(fake_bench.store.keys.schedule("docs"), "carry", text)
    fake_bench.pass_time(1_000)
    fake_bench.sweep()
    assert fake_bench.events("other")[0][1] == "enqueued"
    with pytest.raises(InvalidField):
        carry.load(text)


def test_bytes_that_are_no_text_in_one_schedule_starve_no_other(valkey_bench: Bench) -> None:
    bench = valkey_bench  # a fake's JSON takes nothing but text
    bench.add(spec="@every:1000")
    client, keys = bench.backend.client, bench.store.keys
    spoilt = {}
    for field in client.hkeys(keys.schedule("docs")):
        bench.add(schedule_id=field, spec="@every:1000")
        client.hset(keys.schedule(field), field, b"\xff\xc3(")
        spoilt[field] = client.hgetall(keys.schedule(field))
    bench.pass_time(1_100)
    bench.sweep()
    assert bench.events("docs")[0][1] == "enqueued"
    assert [each.schedule_id for each in bench.store.schedules.page(100)[0]].count("docs") == 1
    for field in spoilt:
        assert client.hget(keys.schedule(field), "revision") == spoilt[field]["revision"]


def test_bytes_that_are_no_text_in_one_occurrence_starve_no_other(valkey_bench: Bench) -> None:
    bench = valkey_bench
    bench.doctored = True
    bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=9)
    client, keys = bench.backend.client, bench.store.keys
    good = bench.due()
    bench.running(good, effects=Effects.UNSAFE)
    for number, field in enumerate(client.hkeys(keys.occurrence(good))):
        bad = Occurrence("docs", number)
        client.hset(keys.occurrence(bad), mapping={**client.hgetall(keys.occurrence(good)), field: b"\xff"})
        client.zadd(keys.watch, {str(bad): number})
    bench.expire(good)
    bench.sweep()
    assert bench.record(good).state is OccurrenceState.HELD
    assert bench.store.holds.page(100)[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("enqueued_ms", None),
        ("task", None),
        ("attempt", "x"),
        ("version", "x"),
        ("decisions", "9" * 30),
        ("decisions", "x"),
        ("resolution", "committed"),
    ],
)
def test_one_record_that_cannot_be_used_hides_no_other_hold(fake_bench: Bench, field: str, value: str | None) -> None:
    fake_bench.doctored = True
    occurrences = []
    for name in ("docs", "other"):
        fake_bench.add(schedule_id=name, **HOUR)
        occurrences.append(fake_bench.due(name))
        fake_bench.store.attempts.relinquish(fake_bench.running(occurrences[-1]), "timeout")
    key = fake_bench.store.keys.occurrence(occurrences[0])
    if value is None:
        fake_bench.backend.client.hdel(key, field)
    else:
        fake_bench.backend.client.hset(key, field, value)
    assert str(occurrences[1]) in [name for name, _ in fake_bench.held()]


def test_a_claim_asked_again_never_gets_the_definition_of_a_schedule_written_since(fake_bench: Bench) -> None:
    fake_bench.add(**HOUR)
    occurrence = fake_bench.due()
    claim = (occurrence, 1, "0" * 32, "w@1")
    assert fake_bench.store.attempts.acquire(*claim).claim is Claim.ACQUIRED
    fake_bench.store.schedules.delete("docs")
    fake_bench.add(**{**HOUR, "args": ["other work"]})
    assert fake_bench.store.attempts.acquire(*claim).work is None


@pytest.mark.parametrize("unknown", [True, False])
def test_deleting_a_schedule_closes_nothing_that_somebody_else_claims(bench: Bench, unknown: bool) -> None:
    bench.add(**{**HOUR, "backoff": {"base_ms": 60_000}})
    occurrence = bench.store.manual.run("docs", "k").occurrence
    if unknown:
        running = bench.running(occurrence, effects=Effects.IDEMPOTENT)
        assert bench.store.attempts.relinquish(running, "OutcomeUnknown") is Ending.RETRY
    bench.backend.client.set(bench.store.keys.lease(occurrence), "somebody-else", px=60_000)
    bench.store.schedules.delete("docs")
    assert bench.record(occurrence).hold_reason == "HOLD_CONCURRENT_LEASE_CLAIM"


def test_three_owners_with_one_fencing_token_keep_their_results_each(bench: Bench) -> None:
    """Redis forgot the claim and the counter, twice."""
    bench.add(spec="@every:3600000", lease_ttl_ms=60_000)
    occurrence = bench.store.manual.run("docs", "k").occurrence
    fence, owners = bench.backend.client.get(bench.store.keys.fence), []
    for _ in range(3):
        owners.append(bench.running(occurrence))
        forget_the_lease(bench.store, occurrence)
        bench.backend.client.set(bench.store.keys.fence, fence)
    for number, owner in enumerate([*owners, *owners]):
        assert bench.store.attempts.complete(owner, f"result {number % 3}") is Ending.LATE
    record = bench.record(occurrence)
    assert record.state == "HELD"
    assert sorted(record.late_results.values()) == ["result 0", "result 1", "result 2"]


def test_late_results_whose_count_was_lost_are_looked_for(fake_bench: Bench) -> None:
    fake_bench.add(backoff={"base_ms": 0}, lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence, effects=Effects.IDEMPOTENT)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    second = fake_bench.running(occurrence, 2, Effects.IDEMPOTENT)
    fake_bench.store.attempts.complete(first, "first")
    fake_bench.backend.client.hdel(fake_bench.store.keys.occurrence(occurrence), "late_results")
    assert fake_bench.store.attempts.complete(second, "second") is Ending.HELD
