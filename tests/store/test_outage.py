"""Six hours without a sweep: exact ticks, exact counts, and a recovery no dearer than any other sweep."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.instant import to_ms, to_rfc3339
from tests.conftest import Backend
from tests.store.conftest import Bench

START = 1_767_225_600_000  # 2026-01-01T00:00:00Z, where the moved clock starts
SIX_HOURS = 6 * 3_600_000


def test_six_hours_of_a_one_second_interval_leave_one_job_and_one_record_of_all_the_rest(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.pass_time(SIX_HOURS)
    fake_bench.sweep()
    enqueued, dropped = fake_bench.store.trails.events("docs")[0]
    assert enqueued.tick_ms == START + SIX_HOURS
    assert (dropped.count, dropped.first_tick_ms, dropped.last_tick_ms) == (
        21_599,
        START + 1_000,
        START + SIX_HOURS - 1_000,
    )


def test_six_hours_of_cron_seconds_are_counted_exactly(fake_bench: Bench) -> None:
    fake_bench.add(spec="CRON_TZ=America/New_York */2 * * * * *")
    fake_bench.pass_time(SIX_HOURS)
    fake_bench.sweep()
    assert fake_bench.store.trails.events("docs")[0][1].count == 10_799


def test_a_new_york_daily_missed_by_six_hours_runs_once_at_its_own_tick(fake_bench: Bench) -> None:
    fake_bench.add(spec="CRON_TZ=America/New_York 0 9 * * *")
    fake_bench.until(to_ms("2026-01-01T20:00:00Z", "t"))  # due at 14:00Z
    fake_bench.sweep()
    assert [(to_rfc3339(tick), outcome) for tick, outcome, _ in fake_bench.events()] == [
        ("2026-01-01T14:00:00Z", "enqueued")
    ]
    assert fake_bench.store.schedules.get("docs").next_run_ms == to_ms("2026-01-02T14:00:00Z", "t")


def test_a_new_york_daily_missed_over_a_week_with_the_clock_change_keeps_its_local_hour(fake_bench: Bench) -> None:
    fake_bench.add(spec="CRON_TZ=America/New_York 0 9 * * *", missed_run_policy="backfill", backfill_limit=3)
    fake_bench.until(to_ms("2026-03-10T20:00:00Z", "t"))  # clocks went forward on 8 March
    fake_bench.sweep()
    enqueued = [to_rfc3339(tick) for tick, outcome, _ in fake_bench.events() if outcome == "enqueued"]
    assert enqueued == ["2026-03-10T13:00:00Z", "2026-03-09T13:00:00Z", "2026-03-08T13:00:00Z"]
    dropped = fake_bench.store.trails.events("docs")[0][-1]
    assert (dropped.count, to_rfc3339(dropped.last_tick_ms)) == (66, "2026-03-07T14:00:00Z")


def test_six_hours_of_backfill_five_enqueue_the_last_five_and_drop_the_rest_on_record(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:300000", missed_run_policy="backfill", backfill_limit=5)
    fake_bench.pass_time(SIX_HOURS)
    fake_bench.sweep()
    last = START + SIX_HOURS
    assert [int(job.split("-")[2]) for job in fake_bench.queue()] == [last - n * 300_000 for n in (4, 3, 2, 1, 0)]
    dropped = fake_bench.store.trails.events("docs")[0][-1]
    assert (dropped.count, dropped.first_tick_ms, dropped.last_tick_ms) == (67, START + 300_000, last - 5 * 300_000)


@pytest.mark.parametrize("spec", ["@every:1000", "* * * * * *", "CRON_TZ=America/New_York * * * * * *"])
def test_the_recovery_sweep_asks_the_store_no_more_than_a_normal_one(fake: Backend, spec: str) -> None:
    def commands_of_a_sweep_after(outage_ms: int) -> int:
        fake.client.flushall()
        store = fake.store()
        bench = Bench(fake, store)
        bench.add(spec=spec)
        bench.pass_time(outage_ms)
        bench.take_duty()
        sent: list[Any] = []
        execute = fake.client.execute_command
        fake.client.execute_command = lambda *args, **kwargs: (sent.append(args[0]), execute(*args, **kwargs))[1]
        try:
            assert bench.sweeper.sweep_once(bench.token) is not None
        finally:
            fake.client.execute_command = execute
        return len(sent)

    commands_of_a_sweep_after(1_000)  # the first one also loads the scripts
    assert commands_of_a_sweep_after(SIX_HOURS) <= commands_of_a_sweep_after(1_000)
