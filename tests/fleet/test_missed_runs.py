"""Ticks that came due while no process of the fleet was there."""

from __future__ import annotations

import pytest

from duly.common.records.trail import EnqueueEvent
from tests.fleet.harness import Fleet
from tests.fleet.processes import wait_until
from tests.fleet.tally import assert_every_tick_is_accounted_for, assert_nothing_is_early, audit

pytestmark = pytest.mark.fleet

DOWN_TICKS = 6
BACKFILLED = 3


def after_the_gap(events: list[EnqueueEvent], down_ms: int) -> tuple[EnqueueEvent, list[EnqueueEvent]]:
    """The record of the ticks dropped while the fleet was down, and the events after it."""
    at = next(n for n, each in enumerate(events) if each.reason == "backlog_dropped" and each.recorded_ms > down_ms)
    return events[at], events[at + 1 :]


def test_a_fleet_that_was_down_runs_what_its_policies_say_and_records_what_they_drop(fleet: Fleet) -> None:
    # One worker, so that what is enqueued first also runs first.
    fleet.start("a")
    first = {
        "skipping": fleet.add("skipping", missed_run_policy="skip").next_run_ms,
        "running-once": fleet.add("running-once", missed_run_policy="run_once").next_run_ms,
        "backfilling": fleet.add("backfilling", missed_run_policy="backfill", backfill_limit=BACKFILLED).next_run_ms,
    }
    wait_until(lambda: all(fleet.effects(schedule_id=each) for each in first), "every schedule runs")
    fleet.containers["a"].process.terminate()
    assert fleet.containers["a"].process.wait(timeout=20) == 0
    down_ms = fleet.now_ms()
    fleet.wait_for_instant((down_ms // 1000 + DOWN_TICKS + 1) * 1000)
    assert not [each for each in fleet.effects() if each.wall_ms > down_ms]
    fleet.start("b")
    for each in first:
        wait_until(
            lambda each=each: (
                [e for e in audit(fleet.store, each) if e.reason == "backlog_dropped"]
                and audit(fleet.store, each)[-1].reason == "accepted"
            ),
            f"{each} has caught up",
        )
        wait_until(
            lambda each=each: fleet.effects(schedule_id=each)[-1].tick_ms > down_ms + DOWN_TICKS * 1000 - 1000,
            f"{each} runs again",
        )
    fleet.settle(*first)

    for schedule_id, kept in (("skipping", 1), ("running-once", 1), ("backfilling", BACKFILLED)):
        first_ms = first[schedule_id]
        assert first_ms is not None
        assert_every_tick_is_accounted_for(fleet.store, schedule_id, first_ms)
        effects = fleet.effects(schedule_id=schedule_id)
        assert_nothing_is_early(fleet.store, schedule_id, effects)
        dropped, later = after_the_gap(audit(fleet.store, schedule_id), down_ms)
        assert dropped.outcome == "skipped"
        caught_up = [each for each in later if each.recorded_ms == later[0].recorded_ms]
        assert len(caught_up) == kept
        # What was due when the sweep looked, moments before it was recorded.
        latest_due = caught_up[-1].tick_ms
        assert 0 <= caught_up[-1].recorded_ms - latest_due < 1_500
        # The N most recent, oldest first, directly after the last tick that was dropped.
        assert [each.tick_ms for each in caught_up] == [latest_due - 1000 * n for n in range(kept - 1, -1, -1)]
        assert dropped.last_tick_ms == caught_up[0].tick_ms - 1000
        assert dropped.count == (dropped.last_tick_ms - dropped.first_tick_ms) // 1000 + 1
        assert dropped.count >= DOWN_TICKS - kept
        ran = [each.tick_ms for each in effects]
        assert ran == sorted(ran)
        assert not [tick for tick in ran if dropped.first_tick_ms <= tick <= dropped.last_tick_ms]
        if schedule_id == "backfilling":
            assert {each.tick_ms for each in caught_up} <= set(ran)
