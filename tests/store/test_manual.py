"""Extra runs: one for each idempotency key, beside the timetable, through the same gates."""

from __future__ import annotations

import pytest

from duly.common.errors import InvalidField, Refused
from duly.common.store.attempts import Claim
from tests.conftest import Backend
from tests.store.conftest import Bench


def test_an_extra_run_is_enqueued_at_once_and_leaves_the_next_run_alone(bench: Bench) -> None:
    record = bench.add(spec="@every:3600000")
    run = bench.store.manual.run("docs", "deploy-7")
    assert not run.replayed
    assert bench.queue() == [run.job_id]
    assert bench.store.schedules.get("docs").next_run_ms == record.next_run_ms
    assert bench.record(run.occurrence).kind == "manual"
    assert bench.events() == []


def test_the_same_key_is_the_same_run_and_another_key_another(bench: Bench) -> None:
    bench.add(spec="@every:3600000", overlap="allow")
    first = bench.store.manual.run("docs", "k1")
    again = bench.store.manual.run("docs", "k1")
    other = bench.store.manual.run("docs", "k2")
    assert (again.occurrence, again.replayed) == (first.occurrence, True)
    assert other.occurrence != first.occurrence
    assert len(bench.queue()) == 2


def test_a_key_is_remembered_until_a_day_after_the_run_ended(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:864000000")
    first = fake_bench.store.manual.run("docs", "k1")
    fake_bench.pass_time(3 * 86_400_000)
    assert fake_bench.store.manual.run("docs", "k1").replayed
    fake_bench.store.attempts.complete(fake_bench.running(first.occurrence), "")
    fake_bench.pass_time(86_399_000)
    assert fake_bench.store.manual.run("docs", "k1").replayed
    fake_bench.pass_time(2_000)
    assert not fake_bench.store.manual.run("docs", "k1").replayed


def test_an_extra_run_never_takes_the_instant_of_a_tick(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:100")
    fake_bench.pass_time(100)  # this very millisecond is a tick
    run = fake_bench.store.manual.run("docs", "k1")
    assert run.occurrence.tick_ms % 100 == 99
    fake_bench.sweep()
    assert fake_bench.events()[0][1:] == ("enqueued", "accepted")


def test_an_extra_run_waits_while_another_occurrence_runs(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.running(bench.due())
    run = bench.store.manual.run("docs", "k1")
    assert bench.acquire(run.occurrence).claim is Claim.WAITING


def test_an_extra_run_is_not_coalesced_by_newer_ticks(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    run = fake_bench.store.manual.run("docs", "k1")
    fake_bench.pass_time(3_000)
    fake_bench.sweep()
    assert fake_bench.acquire(run.occurrence).claim is Claim.ACQUIRED


def test_a_paused_schedule_and_a_full_queue_refuse_extra_runs(fake: Backend) -> None:
    bench = Bench(fake, fake.store(queue_limit=1))
    bench.add(spec="@every:3600000")
    bench.store.schedules.pause("docs", "why")
    with pytest.raises(Refused, match="paused"):
        bench.store.manual.run("docs", "k1")
    bench.store.schedules.resume("docs")
    fake.client.rpush("rq:queue:default", "x")
    with pytest.raises(Refused, match="full"):
        bench.store.manual.run("docs", "k1")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb", "a\x00"])
def test_an_unusable_key_is_refused(bench: Bench, key: str) -> None:
    bench.add(spec="@every:3600000")
    with pytest.raises(InvalidField, match="idempotency_key"):
        bench.store.manual.run("docs", key)
    assert bench.queue() == []
