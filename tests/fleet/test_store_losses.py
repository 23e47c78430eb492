"""The store goes away and comes back; RQ's keys go away and do not."""

from __future__ import annotations

import signal

import pytest

from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Fleet, Server
from tests.fleet.processes import alive, wait_until, wall_ms
from tests.fleet.tally import (
    assert_every_tick_is_accounted_for,
    assert_leases_pass_on_in_order,
    assert_no_attempt_has_two_effects,
    assert_no_success_without_an_effect,
    assert_nothing_is_early,
    history,
)

pytestmark = pytest.mark.fleet

PENDING, RUNNING, SUCCEEDED = OccurrenceState.PENDING, OccurrenceState.RUNNING, OccurrenceState.SUCCEEDED
OUTAGE_MS = 2_500


def check_tally(fleet: Fleet, first: dict[str, int | None]) -> None:
    effects = fleet.effects()
    assert_no_attempt_has_two_effects(effects)
    assert_no_success_without_an_effect(fleet.occurrences(), effects)
    for schedule_id, first_ms in first.items():
        assert first_ms is not None
        assert_every_tick_is_accounted_for(fleet.store, schedule_id, first_ms)
        assert_nothing_is_early(fleet.store, schedule_id, effects)
        assert_leases_pass_on_in_order(fleet.store, schedule_id, effects)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "shut down"])
def test_a_fleet_recovers_by_itself_from_a_server_that_went_away(
    fleet: Fleet, server: Server, how: signal.Signals
) -> None:
    containers = [fleet.start("a", workers=2), fleet.start("b", workers=2)]
    fleet.wait_for_workers("a.1", "a.2", "b.1", "b.2")
    patient = {"lease_ttl_ms": 12_000, "timeout_ms": 30_000}
    over = fleet.once("over", "fleet.unsafe", kwargs={"before_ms": 6_000}, **patient)
    during = fleet.once("during", "fleet.unsafe", kwargs={"before_ms": 1_500}, **patient)
    short = fleet.add("short", kwargs={"before_ms": 300}, retry_budget=100)
    backlog = fleet.add("backlog", missed_run_policy="backfill", backfill_limit=50, retry_budget=100)
    horses = {each: fleet.wait_for_effect(each).pid for each in (over, during)}
    wait_until(lambda: fleet.effects(schedule_id="short"), "ticks run")

    server.end(how)
    ended_ms = wall_ms()
    wait_until(lambda: fleet.effects_of(during, "ended"), "work ends while there is no server")
    assert not server.running
    wait_until(lambda: wall_ms() > ended_ms + OUTAGE_MS, "the outage lasts")
    server.start()
    back_ms = fleet.now_ms()

    # What ran through the outage under a lease that outlives it is a success, and was attempted once.
    for occurrence, horse in horses.items():
        record = fleet.wait_for_state(occurrence, SUCCEEDED, outage=True)
        assert record.attempt == 1
        assert [each.pid for each in fleet.effects_of(occurrence)] == [horse]
    for schedule_id in ("short", "backlog"):
        wait_until(
            lambda each=schedule_id: [e for e in fleet.effects(schedule_id=each) if e.tick_ms > back_ms],
            f"{schedule_id} goes on",
        )
    assert all(alive(each.pid) for each in containers)
    first = {"short": short.next_run_ms, "backlog": backlog.next_run_ms}
    fleet.settle(*first)
    check_tally(fleet, first)


def test_nothing_is_lost_and_nothing_runs_twice_when_all_rq_keys_vanish_again_and_again(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.start("b", workers=2)
    fleet.wait_for_workers("a.1", "a.2", "b.1", "b.2")
    fleet.wait_for_holder()
    # Nobody listens on this queue yet: what is enqueued there lies PENDING while its job vanishes.
    lying = [fleet.once(f"lying-{n}", "fleet.unsafe", queue="later") for n in range(3)]
    steady = {"missed_run_policy": "backfill", "backfill_limit": 100, "overlap": "allow"}
    schedules = [fleet.add(f"steady-{n}", "fleet.unsafe", kwargs={"before_ms": 150}, **steady) for n in range(4)]
    first = {each.schedule_id: each.next_run_ms for each in schedules}
    for each in lying:
        fleet.wait_for_state(each, PENDING)
    for _ in range(6):
        now_ms = wall_ms()

        def at_work(now_ms: float = now_ms) -> bool:
            """Jobs are popped, and in the middle of their work."""
            return any(each.wall_ms > now_ms for each in fleet.effects("began")) and bool(_rq_keys(fleet))

        wait_until(at_work, "work has begun")
        fleet.rq.delete(*_rq_keys(fleet), "rq:queues")
    fleet.start("c", queues=["later"], scheduler=False)
    for each in lying:
        record = fleet.wait_for_state(each, SUCCEEDED)
        assert record.attempt == 1
        assert len(fleet.effects_of(each)) == 1
        delivered = [e.reason for e in history(fleet.store, each.schedule_id) if e.event == "delivered"]
        assert "again" in delivered
    fleet.settle(*first)
    check_tally(fleet, first)
    states = {each.state for schedule_id in first for each in fleet.occurrences(schedule_id)}
    assert states == {SUCCEEDED}
    assert all(each.attempt == 1 for each in fleet.effects())


def test_a_job_delivered_again_while_it_runs_is_refused_and_disturbs_nobody(fleet: Fleet) -> None:
    fleet.start("a", workers=3)
    fleet.wait_for_workers("a.1", "a.2", "a.3")
    running = fleet.once("running", "fleet.unsafe", kwargs={"before_ms": 1_500})
    fleet.wait_for_effect(running)
    job_id = fleet.store.attempts.get(running).job_id
    for _ in range(4):
        fleet.rq.rpush("rq:queue:default", job_id)
    refused = wait_until(
        lambda: [e for e in history(fleet.store, "running") if e.event == "refused"][3:], "all are refused"
    )
    assert refused[-1].reason == "owned"
    record = fleet.wait_for_state(running, SUCCEEDED)
    assert record.attempt == 1
    fleet.rq.rpush("rq:queue:default", job_id)
    wait_until(lambda: fleet.rq.llen("rq:queue:default") == 0, "it is delivered once more")
    again = fleet.once("again", "fleet.unsafe")
    fleet.wait_for_state(again, SUCCEEDED)
    assert len(fleet.effects_of(running, "began")) == 1


def _rq_keys(fleet: Fleet) -> list[bytes]:
    return list(fleet.rq.scan_iter(match="rq:*", count=10_000))
