"""The life of an occurrence: one proven owner at a time, and no success without one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from duly.common.contract import Decision
from duly.common.errors import OccurrenceNotFound
from duly.common.identity import Occurrence, new_token
from duly.common.records.occurrence import Effects, OccurrenceState
from duly.common.store.attempts import Carried, Claim, Ending
from duly.common.store.holds import Resolution
from duly.scheduler.hooks import EnqueueContext
from duly.worker.gate import judge, needs_probe
from tests.conftest import Backend
from tests.store.conftest import Bench

WAITED = {"backoff_delay_ms": 0, "not_before_ms": 0}


def test_an_attempt_goes_from_pending_to_succeeded_with_its_result(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.lease(occurrence)
    assert bench.record(occurrence).state is OccurrenceState.LEASED
    assert bench.begin(lease) is Carried.BEGUN
    assert bench.record(occurrence).state is OccurrenceState.RUNNING
    assert bench.store.attempts.complete(lease, "s3://bucket/key") is Ending.RECORDED
    record = bench.record(occurrence)
    assert (record.state, record.result_ref, record.attempt) == ("SUCCEEDED", "s3://bucket/key", 1)
    assert bench.history()[-4:] == ["enqueued", "acquired", "began", "succeeded"]
    schedule = bench.store.schedules.get("docs")
    assert (schedule.last_run_ms, schedule.last_outcome) == (occurrence.tick_ms, "SUCCEEDED")


def test_a_second_worker_is_refused_and_disturbs_nobody(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.running(occurrence)
    assert bench.acquire(occurrence, owner="w@2").claim is Claim.OWNED
    record = bench.record(occurrence)
    assert (record.lease_owner, record.attempt, record.state) == ("w@1", 1, "RUNNING")
    assert bench.history()[-1] == "refused"
    assert bench.store.attempts.complete(lease, "") is Ending.RECORDED


def test_every_transition_asked_again_with_its_token_gives_the_same_answer(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    token = new_token()
    first = bench.store.attempts.acquire(occurrence, 1, token, "w@1")
    again = bench.store.attempts.acquire(occurrence, 1, token, "w@1")
    assert first.lease is not None
    assert again.lease is not None
    assert again.lease.fencing_token == first.lease.fencing_token
    assert again.lease.attempt == 1
    assert first.evidence is not None
    judgement = judge(first.evidence, Effects.UNSAFE)
    for _ in range(2):
        assert bench.store.attempts.begin(first.lease, Effects.UNSAFE, judgement).word is Carried.BEGUN
    for _ in range(2):
        assert bench.store.attempts.complete(first.lease, "ref") is Ending.RECORDED
    assert bench.history().count("succeeded") == 1


def test_a_failure_reported_twice_costs_one_attempt(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    lease = bench.running(bench.due())
    assert bench.store.attempts.fail(lease, "ValueError") is Ending.RETRY
    assert bench.store.attempts.fail(lease, "ValueError") is Ending.RETRY
    assert bench.history().count("failed") == 1


def test_fencing_tokens_only_grow(bench: Bench) -> None:
    bench.add(spec="@every:1000", backoff={"base_ms": 0}, retry_budget=5)
    occurrence = bench.due()
    tokens = []
    for attempt in range(1, 4):
        lease = bench.running(occurrence, attempt)
        tokens.append(lease.fencing_token)
        bench.store.attempts.fail(lease, "ValueError")
        bench.sweep()
    assert tokens == sorted(set(tokens))


def test_fencing_tokens_beyond_2_to_the_53_stay_exact_in_the_script(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.backend.client.set(bench.store.keys.fence, 1_800_000_000_000_001)
    assert bench.lease(bench.due()).fencing_token == 1_800_000_000_000_002


def test_a_job_of_an_earlier_attempt_is_refused(bench: Bench) -> None:
    bench.add(spec="@every:1000", backoff={"base_ms": 0})
    occurrence = bench.due()
    bench.store.attempts.fail(bench.running(occurrence), "ValueError")
    bench.sweep()
    assert bench.acquire(occurrence, 1).claim is Claim.SUPERSEDED
    assert bench.acquire(occurrence, 2).claim is Claim.ACQUIRED


def test_an_occurrence_that_is_not_on_record_is_never_run(bench: Bench) -> None:
    occurrence = Occurrence("docs", 1_000)
    assert bench.acquire(occurrence).claim is Claim.MISSING
    assert bench.store.attempts.find(occurrence) is None
    with pytest.raises(OccurrenceNotFound):
        bench.store.attempts.get(occurrence)


def test_an_attempt_is_counted_when_the_lease_is_acquired(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.lease(occurrence)
    assert bench.record(occurrence).attempt == 1


def test_a_lease_that_expires_before_the_work_began_costs_nothing_but_the_attempt(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.lease(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    record = bench.record(occurrence)
    assert (record.state, record.attempt) == ("PENDING", 1)
    assert bench.acquire(occurrence, 2).claim is Claim.ACQUIRED


@pytest.mark.parametrize(
    ("effects", "state"),
    [(Effects.UNSAFE, "HELD"), (Effects.IDEMPOTENT, "RETRY_WAIT"), (Effects.GUARDED, "RETRY_WAIT")],
)
def test_what_follows_an_unknown_outcome_depends_on_the_effect(bench: Bench, effects: Effects, state: str) -> None:
    bench.add(spec="@every:1000", backoff={"base_ms": 60_000, "max_ms": 60_000})
    occurrence = bench.due()
    bench.running(occurrence, effects=effects)
    bench.expire(occurrence)
    bench.sweep()
    record = bench.record(occurrence)
    assert (record.state, record.prior_outcome) == (state, "UNKNOWN")


@pytest.mark.parametrize("effects", [Effects.UNSAFE, Effects.IDEMPOTENT])
def test_an_unknown_outcome_with_the_budget_spent_is_held(bench: Bench, effects: Effects) -> None:
    bench.add(spec="@every:1000", retry_budget=1)
    occurrence = bench.due()
    bench.running(occurrence, effects=effects)
    bench.expire(occurrence)
    bench.sweep()
    assert bench.record(occurrence).state == "HELD"


def test_a_probe_is_asked_also_when_the_budget_is_spent(bench: Bench) -> None:
    bench.add(spec="@every:1000", retry_budget=1)
    occurrence = bench.due()
    bench.running(occurrence, effects=Effects.GUARDED)
    bench.expire(occurrence)
    bench.sweep()
    grant = bench.acquire(occurrence, 2)
    assert grant.evidence is not None
    assert needs_probe(grant.evidence, Effects.GUARDED)
    assert bench.record(occurrence).attempt == 1
    assert judge(grant.evidence, Effects.GUARDED, "UNKNOWN").decision is Decision.HOLD_PRIOR_OUTCOME_UNKNOWN
    assert grant.lease is not None
    nothing_done = judge(grant.evidence, Effects.GUARDED, "NO_COMMITTED_RESULT")
    assert nothing_done.decision is Decision.HOLD_RETRY_BUDGET_EXHAUSTED
    assert bench.store.attempts.begin(grant.lease, Effects.GUARDED, nothing_done).word is Carried.LOST
    assert bench.store.attempts.commit_by_probe(grant.lease, "probe: COMMITTED") is Ending.RECORDED


def test_leases_that_expire_again_and_again_before_the_work_begins_spend_the_budget(bench: Bench) -> None:
    bench.add(spec="@every:1000", retry_budget=2)
    occurrence = bench.due()
    for attempt in (1, 2):
        bench.lease(occurrence, attempt)
        bench.expire(occurrence)
        bench.sweep()
    grant = bench.acquire(occurrence, 3)
    assert grant.lease is not None
    assert grant.evidence is not None
    judgement = judge(grant.evidence, Effects.IDEMPOTENT)
    assert bench.store.attempts.hold(grant.lease, judgement).word is Carried.HELD
    assert bench.held() == [(str(occurrence), "HOLD_RETRY_BUDGET_EXHAUSTED")]
    assert bench.record(occurrence).attempt == 2


def test_a_lease_is_not_expired_by_the_sweep_while_it_lasts(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.running(occurrence)
    bench.backend.client.zadd(bench.store.keys.watch, {str(occurrence): 0})
    bench.sweep()
    assert bench.record(occurrence).state == "RUNNING"


def test_a_real_lease_expires_by_the_store_s_clock_alone(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000", lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    lease = fake_bench.running(occurrence)
    fake_bench.pass_time(999)
    assert fake_bench.store.attempts.renew(lease)
    fake_bench.pass_time(999)
    fake_bench.sweep()
    assert fake_bench.record(occurrence).state == "RUNNING"
    fake_bench.pass_time(2)
    assert not fake_bench.store.attempts.renew(lease)
    fake_bench.sweep()
    assert fake_bench.record(occurrence).state == "HELD"


def test_an_expired_lease_cannot_be_begun_renewed_or_completed(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.lease(occurrence)
    bench.backend.client.delete(bench.store.keys.lease(occurrence))
    judgement = judge(bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    assert bench.store.attempts.begin(lease, Effects.UNSAFE, judgement).word is Carried.LOST
    assert not bench.store.attempts.renew(lease)
    assert bench.store.attempts.complete(lease, "ref") is Ending.LATE
    assert bench.record(occurrence).state == "LEASED"


def test_a_late_result_is_kept_as_evidence_and_never_as_success(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.running(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    assert bench.store.attempts.complete(lease, "written-anyway") is Ending.LATE
    assert bench.store.attempts.complete(lease, "written-anyway") is Ending.LATE
    record = bench.record(occurrence)
    assert record.state == "HELD"
    assert record.late_results == {str(lease.fencing_token): "written-anyway"}
    assert bench.history().count("late_result") == 1


def test_the_late_result_of_a_former_owner_does_not_touch_the_present_one(bench: Bench) -> None:
    bench.add(spec="@every:1000", backoff={"base_ms": 0})
    occurrence = bench.due()
    former = bench.running(occurrence, effects=Effects.IDEMPOTENT)
    bench.expire(occurrence)
    bench.sweep()
    present = bench.running(occurrence, 2, Effects.IDEMPOTENT)
    former.expires_ms = 0
    assert bench.store.attempts.complete(former, "old") is Ending.LATE
    assert bench.store.attempts.fail(former, "ValueError") is Ending.LATE
    assert not bench.store.attempts.renew(former)
    assert bench.store.attempts.relinquish(former, "timeout") is Ending.LOST
    assert bench.store.attempts.renew(present)
    assert bench.record(occurrence).state == "RUNNING"


@pytest.mark.parametrize("late_first", [True, False])
def test_two_results_of_two_owners_are_a_hold_with_both_kept(bench: Bench, late_first: bool) -> None:
    bench.add(spec="@every:3600000", backoff={"base_ms": 0})
    run = bench.store.manual.run("docs", "key").occurrence
    former = bench.running(run, effects=Effects.IDEMPOTENT)
    bench.expire(run)
    bench.sweep()
    present = bench.running(run, 2, Effects.IDEMPOTENT)
    former.expires_ms = 0
    if late_first:
        assert bench.store.attempts.complete(former, "old") is Ending.LATE
        for _ in range(2):
            assert bench.store.attempts.complete(present, "new") is Ending.HELD
    else:
        assert bench.store.attempts.complete(present, "new") is Ending.RECORDED
        for _ in range(2):
            assert bench.store.attempts.complete(former, "old") is Ending.LATE
    record = bench.record(run)
    assert (record.state, record.hold_reason) == ("HELD", "HOLD_PRIOR_OUTCOME_UNKNOWN")
    both = {str(former.fencing_token): "old", str(present.fencing_token): "new"}
    assert record.late_results == both
    assert bench.backend.client.pttl(bench.store.keys.occurrence(run)) == -1
    bench.store.holds.resolve(run, Resolution.COMMITTED, "ann", "the receiver kept one of them")
    assert (bench.record(run).state, bench.record(run).late_results) == ("SUCCEEDED", both)
    assert bench.backend.client.pttl(bench.store.keys.occurrence(run)) > 0


def test_a_failed_attempt_waits_its_backoff_and_then_runs_again(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", backoff={"base_ms": 1_000, "factor": 3, "max_ms": 5_000}, retry_budget=9)
    occurrence = fake_bench.due()
    waits = []
    for attempt in range(1, 5):
        lease = fake_bench.running(occurrence, attempt)
        failed_at = fake_bench.store.schedules.now_ms()
        fake_bench.store.attempts.fail(lease, "ValueError")
        record = fake_bench.record(occurrence)
        assert record.state == "RETRY_WAIT"
        waits.append((record.not_before_ms or 0) - failed_at)
        assert fake_bench.acquire(occurrence, attempt + 1).claim is Claim.NOT_DUE
        fake_bench.until((record.not_before_ms or 0) - 1)
        fake_bench.sweep()
        assert fake_bench.record(occurrence).state == "RETRY_WAIT"
        fake_bench.pass_time(1)
        fake_bench.sweep()
        assert fake_bench.queue()[-1] == f"duly-{str(occurrence).replace('@', '-')}-{attempt + 1}"
    assert waits == [1_000, 3_000, 5_000, 5_000]


def test_a_spent_budget_holds_and_no_new_tick_bypasses_it(bench: Bench) -> None:
    bench.add(spec="@every:100", retry_budget=1, missed_run_policy="backfill", backfill_limit=9)
    lease = bench.running(bench.due())
    assert bench.store.attempts.fail(lease, "ValueError") is Ending.HELD
    bench.pass_time(110)
    bench.sweep()
    assert bench.held()[0][1] == "HOLD_RETRY_BUDGET_EXHAUSTED"
    assert bench.events()[0][1:] == ("skipped", "quarantined")


def test_giving_up_before_the_work_began_hands_it_back(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.lease(occurrence)
    assert bench.store.attempts.relinquish(lease, "stopping") is Ending.RELEASED
    bench.sweep()
    assert bench.acquire(occurrence, 2).claim is Claim.ACQUIRED


def test_giving_up_after_it_began_is_an_unknown_outcome(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    lease = bench.running(bench.due())
    assert bench.store.attempts.relinquish(lease, "timeout") is Ending.HELD


def test_a_parent_reports_the_death_of_the_owner_it_saw_end_and_of_nobody_else(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    lease = bench.running(occurrence)
    assert bench.store.attempts.report_death("docs", "w@2", "worker_died") is Ending.LOST
    assert bench.store.attempts.renew(lease)
    assert bench.store.attempts.report_death("docs", "w@1", "worker_died") is Ending.HELD
    assert bench.store.attempts.report_death("docs", "w@1", "worker_died") is Ending.LOST


def test_a_queued_tick_gives_way_at_claim_to_a_newer_one_that_is_due(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    occurrence = fake_bench.due()
    fake_bench.pass_time(1_000)  # the next tick is due; nobody has swept it yet
    grant = fake_bench.acquire(occurrence)
    assert (grant.claim, grant.newer_tick_ms) == (Claim.COALESCED, None)
    assert fake_bench.record(occurrence).state == "COALESCED"


def test_a_coalesced_claim_names_the_tick_that_took_its_place(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    older = fake_bench.due()
    newer = fake_bench.due()
    grant = fake_bench.acquire(older)
    assert (grant.claim, grant.newer_tick_ms) == (Claim.COALESCED, newer.tick_ms)


def test_under_backfill_an_older_tick_runs_although_newer_ones_are_due(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=5)
    occurrence = fake_bench.due()
    fake_bench.pass_time(1_000)
    assert fake_bench.acquire(occurrence).claim is Claim.ACQUIRED


def test_a_retry_is_not_coalesced_by_newer_ticks(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", backoff={"base_ms": 0})
    occurrence = fake_bench.due()
    fake_bench.store.attempts.fail(fake_bench.running(occurrence), "ValueError")
    fake_bench.sweep()
    fake_bench.pass_time(3_000)
    assert fake_bench.acquire(occurrence, 2).claim is Claim.ACQUIRED


def test_a_tick_claimed_too_late_is_cancelled(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:60000", max_lateness_ms=500)
    occurrence = fake_bench.due()
    fake_bench.pass_time(501)
    assert fake_bench.acquire(occurrence).claim is Claim.CANCELLED
    assert fake_bench.record(occurrence).reason == "too_late"


def test_nothing_of_a_quarantined_schedule_starts(bench: Bench) -> None:
    bench.add(spec="@every:100", overlap="allow", missed_run_policy="backfill", backfill_limit=9)
    first, second = bench.due(), bench.due()
    bench.store.attempts.relinquish(bench.running(first), "timeout")
    assert bench.acquire(second).claim is Claim.WAITING
    assert bench.acquire(first, 2).claim is Claim.HELD


def test_an_occurrence_whose_job_vanished_is_delivered_again(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    occurrence = fake_bench.due()
    for key in fake_bench.backend.client.keys("rq:*"):
        fake_bench.backend.client.delete(key)
    fake_bench.pass_time(10_000)
    fake_bench.sweep()
    assert fake_bench.queue() == [fake_bench.record(occurrence).job_id]
    assert fake_bench.history()[-1] == "delivered"


def test_a_job_that_was_popped_and_never_begun_is_delivered_again(fake_bench: Bench) -> None:
    """A worker killed between BLPOP and its first word: the hash is there, the entry is in no list."""
    fake_bench.add(spec="@every:3600000")
    fake_bench.due()
    fake_bench.backend.client.lpop("rq:queue:default")
    fake_bench.pass_time(10_000)
    fake_bench.sweep()
    assert len(fake_bench.queue()) == 1


def test_a_job_that_still_waits_in_its_queue_is_not_pushed_twice(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    fake_bench.due()
    for _ in range(20):
        fake_bench.pass_time(60_000)
        fake_bench.sweep()
    assert len(fake_bench.queue()) == 1


def test_an_occurrence_that_nobody_takes_is_offered_less_and_less_often(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:86400000")
    fake_bench.due()
    delivered = 0
    for _ in range(720):
        fake_bench.backend.client.delete("rq:queue:default")
        fake_bench.pass_time(10_000)
        fake_bench.sweep()
        delivered += len(fake_bench.queue())
    assert 10 < delivered < 30


def test_a_long_queue_is_not_searched(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    fake_bench.due()
    fake_bench.backend.client.delete("rq:queue:default")
    fake_bench.backend.client.rpush("rq:queue:default", *["x"] * 2001)
    fake_bench.pass_time(10_000)
    fake_bench.sweep()
    assert len(fake_bench.queue()) == 2001
    fake_bench.backend.client.ltrim("rq:queue:default", 0, 9)
    fake_bench.pass_time(320_000)
    fake_bench.sweep()
    assert len(fake_bench.queue()) == 11


def test_a_worker_without_the_task_leaves_the_occurrence_for_others(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    occurrence = bench.due()
    bench.store.attempts.refuse(occurrence, "task_not_registered")
    assert bench.record(occurrence).attempt == 0
    assert bench.acquire(occurrence).claim is Claim.ACQUIRED


def test_a_terminal_occurrence_expires_after_its_retention_and_an_open_one_never(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    occurrence = fake_bench.due()
    key = fake_bench.store.keys.occurrence(occurrence)
    assert fake_bench.backend.client.pttl(key) == -1
    lease = fake_bench.running(occurrence)
    assert fake_bench.backend.client.pttl(key) == -1
    fake_bench.store.attempts.complete(lease, "")
    assert fake_bench.backend.client.pttl(key) == 7 * 86_400_000
    fake_bench.pass_time(7 * 86_400_000 + 1)
    assert fake_bench.store.attempts.find(occurrence) is None


def test_a_probe_s_word_makes_a_success_and_a_doubt_makes_a_hold(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.add(schedule_id="other", spec="@every:1000")
    committed = bench.due()
    assert bench.store.attempts.commit_by_probe(bench.lease(committed), "probe: COMMITTED") is Ending.RECORDED
    doubtful = bench.due("other")
    lease = bench.lease(doubtful)
    bench.backend.client.hset(bench.store.keys.occurrence(doubtful), "prior_outcome", "UNKNOWN")
    judgement = judge(bench.store.attempts.evidence(doubtful), Effects.UNSAFE)
    assert bench.store.attempts.hold(lease, judgement).word is Carried.HELD
    assert bench.record(committed).state == "SUCCEEDED"
    assert bench.held() == [(str(doubtful), "HOLD_PRIOR_OUTCOME_UNKNOWN")]


def test_the_death_of_a_work_horse_that_took_the_newer_tick_is_reported_too(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    older, newer = fake_bench.due(), fake_bench.due()
    assert fake_bench.acquire(older).newer_tick_ms == newer.tick_ms
    fake_bench.running(newer)
    assert fake_bench.store.attempts.report_death("docs", "w@1", "worker_died") is Ending.HELD
    assert fake_bench.record(newer).state == "HELD"


def test_a_failure_does_not_make_an_earlier_unknown_outcome_known(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=2, backoff={"base_ms": 0})
    occurrence = fake_bench.due()
    fake_bench.running(occurrence, effects=Effects.IDEMPOTENT)
    fake_bench.expire(occurrence)
    fake_bench.sweep()
    lease = fake_bench.running(occurrence, 2, Effects.IDEMPOTENT)
    fake_bench.store.attempts.fail(lease, "ValueError")
    record = fake_bench.record(occurrence)
    assert (record.state, record.prior_outcome) == ("HELD", "UNKNOWN")


def test_a_probe_that_was_asked_makes_the_past_of_a_guarded_task_known(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000", retry_budget=3, backoff={"base_ms": 0})
    occurrence = fake_bench.due()
    fake_bench.running(occurrence, effects=Effects.GUARDED)
    fake_bench.expire(occurrence)
    fake_bench.sweep()
    fake_bench.store.attempts.fail(fake_bench.running(occurrence, 2, Effects.GUARDED), "ValueError")
    assert fake_bench.record(occurrence).prior_outcome == "NO_COMMITTED_RESULT"


def test_deleting_a_schedule_does_not_close_an_unknown_outcome(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:3600000")
    occurrence = fake_bench.due()
    fake_bench.running(occurrence, effects=Effects.GUARDED)
    fake_bench.expire(occurrence)
    fake_bench.sweep()
    fake_bench.store.schedules.delete("docs")
    fake_bench.pass_time(5_000)
    fake_bench.sweep()
    assert fake_bench.held() == [(str(occurrence), "HOLD_PRIOR_OUTCOME_UNKNOWN")]


def test_a_queued_tick_does_not_give_way_to_one_that_cannot_be_enqueued(fake: Backend) -> None:
    failing = False

    def hook(_context: EnqueueContext) -> None:
        if failing:
            raise ValueError

    bench = Bench(fake, fake.store(), hooks=[hook])
    bench.add(spec="@every:60000")
    occurrence = bench.due()
    failing = True
    bench.pass_time(60_000)
    bench.sweep()
    assert bench.acquire(occurrence).claim is Claim.ACQUIRED


@pytest.mark.parametrize(
    ("backoff", "attempts", "delays"),
    [
        ((1_000, 2, 10_000), range(1, 7), [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]),
        ((700, 1, 700), (1, 50, 100), [700, 700, 700]),
        ((1_000, 1.5, 60_000), (1, 2, 3), [1_000, 1_500, 2_250]),
        ((1, 100, 604_800_000), (5, 156, 100_000), [100_000_000, 604_800_000, 604_800_000]),
        ((0, 100, 5_000), (1, 156, 100_000), [0, 0, 0]),  # where the power is infinite
    ],
)
def test_backoff_grows_by_its_factor_up_to_its_maximum_and_never_beyond(
    fake_bench: Bench, backoff: tuple[int, float, int], attempts: Iterable[int], delays: list[int]
) -> None:
    base_ms, factor, max_ms = backoff
    fake_bench.add(spec="@every:3600000", backoff={"base_ms": base_ms, "factor": factor, "max_ms": max_ms})
    found = []
    for attempt in attempts:
        occurrence = fake_bench.store.manual.run("docs", f"run {attempt}").occurrence
        key = fake_bench.store.keys.occurrence(occurrence)
        fake_bench.backend.client.hset(key, mapping={"attempt": attempt - 1, "retry_budget": attempt + 1, **WAITED})
        lease = fake_bench.running(occurrence, attempt)
        fake_bench.store.attempts.fail(lease, "ValueError")
        found.append((fake_bench.record(occurrence).not_before_ms or 0) - fake_bench.store.schedules.now_ms())
        fake_bench.store.schedules.delete("docs")
        fake_bench.pass_time(max_ms)
        fake_bench.sweep()
        fake_bench.add(spec="@every:3600000", backoff={"base_ms": base_ms, "factor": factor, "max_ms": max_ms})
    assert found == delays


@pytest.mark.parametrize("overlap", ["skip", "buffer_one"])
def test_a_newer_tick_never_runs_between_two_attempts_of_an_earlier_one(fake_bench: Bench, overlap: str) -> None:
    fake_bench.add(spec="@every:1000", overlap=overlap, backoff={"base_ms": 0})
    first = fake_bench.due()
    fake_bench.store.attempts.fail(fake_bench.running(first), "ValueError")
    fake_bench.sweep()
    assert fake_bench.record(first).state == "PENDING"
    fake_bench.due_again()
    assert fake_bench.events()[0][1:] == (("skipped", "overlap") if overlap == "skip" else ("enqueued", "accepted"))
    newer = Occurrence("docs", fake_bench.events()[0][0])
    if overlap == "buffer_one":
        assert fake_bench.acquire(newer).claim is Claim.WAITING
    fake_bench.store.attempts.complete(fake_bench.running(first, 2), "")
    if overlap == "buffer_one":
        fake_bench.running(newer)


def test_an_older_tick_in_the_queue_does_not_hide_one_that_is_between_its_attempts(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=9, overlap="allow")
    older, tried = fake_bench.due(), fake_bench.due()
    fake_bench.store.attempts.fail(fake_bench.running(tried), "ValueError")
    fake_bench.store.schedules.update("docs", {"overlap": "buffer_one"})
    fake_bench.until(fake_bench.record(tried).not_before_ms or 0)
    newer = fake_bench.due()
    assert fake_bench.record(tried).state == "PENDING"
    assert fake_bench.acquire(newer).claim is Claim.WAITING
    fake_bench.store.attempts.complete(fake_bench.running(older), "")
    fake_bench.store.attempts.complete(fake_bench.running(tried, 2), "")
    fake_bench.running(newer)


def test_an_attempt_that_was_handed_back_uncounted_makes_nobody_wait(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", missed_run_policy="backfill", backfill_limit=9)
    first = fake_bench.due()
    lease = fake_bench.lease(first)
    judgement = judge(fake_bench.store.attempts.evidence(first), Effects.UNSAFE)
    fake_bench.store.attempts.hand_back(lease, judgement, 0)
    fake_bench.doctored = True  # a run that was decided and handed back all the same
    assert fake_bench.record(first).attempt == 0
    assert fake_bench.backend.client.exists(fake_bench.store.keys.retrying("docs")) == 0
    fake_bench.running(fake_bench.due())
