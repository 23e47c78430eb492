"""Work that fails: retried after a wait, inside the budget; then held, and its schedule quarantined."""

from __future__ import annotations

from itertools import pairwise

import pytest

from duly.common.records.occurrence import OccurrenceState
from duly.common.records.schedule import ScheduleState
from duly.common.store.holds import Resolution
from tests.fleet.harness import Fleet
from tests.fleet.processes import wait_until
from tests.fleet.tally import assert_every_tick_is_accounted_for, audit, history

pytestmark = pytest.mark.fleet

HELD = OccurrenceState.HELD


def test_a_spent_budget_holds_the_occurrence_and_quarantines_its_schedule_until_it_is_resolved(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    broken = fleet.folder / "broken"
    broken.touch()
    backoff = {"base_ms": 200, "factor": 2, "max_ms": 10_000}
    started = fleet.add(
        "failing", "fleet.failing", kwargs={"while_exists": str(broken)}, retry_budget=3, backoff=backoff
    )
    other = fleet.add("healthy")
    assert started.next_run_ms is not None
    assert other.next_run_ms is not None

    held = wait_until(lambda: [o for o in fleet.occurrences("failing") if o.state is HELD], "an occurrence is held")
    (held,) = held
    assert (held.hold_reason, held.attempt, held.last_error) == ("HOLD_RETRY_BUDGET_EXHAUSTED", 3, "RuntimeError")
    assert held.prior_outcome == "NO_COMMITTED_RESULT"
    ended = history(fleet.store, "failing", held.occurrence.tick_ms)
    failed = [each.at_ms for each in ended if each.event in {"failed", "held"}]
    tried = [each.at_ms for each in ended if each.event == "began"]
    waits = [later - earlier for earlier, later in zip(failed, tried[1:], strict=False)]
    assert len(failed) == len(tried) == 3
    assert waits[0] >= 200
    assert waits[1] >= 400

    assert fleet.store.schedules.get("failing").state is ScheduleState.QUARANTINED
    quarantined = wait_until(
        lambda: [e for e in audit(fleet.store, "failing") if e.reason == "quarantined"][1:], "two ticks are skipped"
    )
    assert all(each.outcome == "skipped" for each in quarantined)
    during = quarantined[-1].tick_ms
    wait_until(
        lambda: any(o.state == "SUCCEEDED" and o.occurrence.tick_ms >= during for o in fleet.occurrences("healthy")),
        "the other schedule goes on",
    )

    broken.unlink()
    fleet.store.holds.resolve(held.occurrence, Resolution.ABANDONED, "a reviewer", "looked at the file")
    resolved_ms = fleet.now_ms()
    ran = wait_until(lambda: fleet.effects(schedule_id="failing"), "the next tick runs")[0]
    assert ran.tick_ms > held.occurrence.tick_ms
    assert ran.tick_ms - resolved_ms <= 1_500, "the first tick after the resolution"
    fleet.settle("failing", "healthy")
    assert_every_tick_is_accounted_for(fleet.store, "failing", started.next_run_ms)
    assert_every_tick_is_accounted_for(fleet.store, "healthy", other.next_run_ms)
    # Retries of one occurrence never overlap the next: its ticks were skipped while it was open.
    assert all(a.fencing_token < b.fencing_token for a, b in pairwise(fleet.effects(schedule_id="failing")))


def test_another_attempt_that_a_reviewer_allows_runs_the_held_occurrence_itself(fleet: Fleet) -> None:
    fleet.start("a")
    broken = fleet.folder / "broken"
    broken.touch()
    only = fleet.once("failing", "fleet.failing", kwargs={"while_exists": str(broken)}, retry_budget=1)
    fleet.wait_for_state(only, HELD)
    broken.unlink()
    fleet.store.holds.resolve(only, Resolution.NO_COMMITTED_RESULT, "a reviewer", "no line in the log", 1)
    record = fleet.wait_for_state(only, OccurrenceState.SUCCEEDED)
    assert record.attempt == 2
    assert [each.attempt for each in fleet.effects_of(only)] == [2]
