"""Attempts that run over their time-out, those that resist it, and those that take the interpreter with them."""

from __future__ import annotations

import time

import pytest

from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Fleet
from tests.fleet.processes import alive, wait_until
from tests.fleet.tally import history

pytestmark = pytest.mark.fleet

HELD, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.SUCCEEDED
TIMEOUT_MS = 700


def test_whatever_runs_over_its_timeout_ends_and_is_held_or_retried(fleet: Fleet) -> None:
    fleet.start("a", workers=5)
    fleet.wait_for_workers(*(f"a.{n}" for n in range(1, 6)))
    over = {"timeout_ms": TIMEOUT_MS, "lease_ttl_ms": 2_000}
    sleeping = fleet.once("sleeping", "fleet.unsafe", kwargs={"before_ms": 60_000}, **over)
    holding_on = fleet.once("holding-on", "fleet.holding_on", **over)
    stubborn = fleet.once("stubborn", "fleet.stubborn", **over)
    stuck = fleet.once("stuck", "fleet.stuck", timeout_ms=TIMEOUT_MS, lease_ttl_ms=1_000)
    repeatable = fleet.once("repeatable", "fleet.idempotent", kwargs={"before_ms": 60_000}, retry_budget=2, **over)
    horses = {each: fleet.wait_for_effect(each) for each in (sleeping, holding_on, stubborn, stuck, repeatable)}

    for occurrence, at_least_ms, at_most_ms in (
        (sleeping, TIMEOUT_MS, 4_000),  # the time-out is an exception inside the work
        (holding_on, TIMEOUT_MS, 4_000),  # `except Exception` does not catch it
        (stuck, 0, 4_000),  # nothing can be raised: the kernel ends it with its lease
        (stubborn, TIMEOUT_MS + 4_500, 12_000),  # killed after the grace
    ):
        record = fleet.wait_for_state(occurrence, HELD)
        assert record.hold_reason == "HOLD_PRIOR_OUTCOME_UNKNOWN", occurrence
        assert record.held_ms is not None
        assert record.began_ms is not None
        assert at_least_ms <= record.held_ms - record.began_ms <= at_most_ms, occurrence
        horse = horses[occurrence].pid
        wait_until(lambda horse=horse: not alive(horse), f"the work-horse of {occurrence} has ended", 2.0)
        assert not fleet.effects_of(occurrence)
    assert not fleet.effects_of(holding_on, "swallowed")
    assert len(fleet.effects_of(stubborn, "swallowed")) == 1

    # A time-out leaves the outcome unknown: an idempotent task tries again, inside its budget.
    record = fleet.wait_for_state(repeatable, HELD)
    assert record.attempt == 2
    reasons = [each.reason for each in history(fleet.store, "repeatable") if each.event == "outcome_unknown"]
    assert reasons == ["timeout"]
    after = fleet.once("after", "fleet.unsafe")
    fleet.wait_for_state(after, SUCCEEDED)


def test_what_timed_out_work_left_running_ends_before_the_next_attempt_begins(fleet: Fleet) -> None:
    fleet.start("a")
    occurrence = fleet.once(
        "piping", "fleet.piping", kwargs={"before_ms": 1_500}, timeout_ms=TIMEOUT_MS, retry_budget=2, lease_ttl_ms=2_000
    )
    record = fleet.wait_for_state(occurrence, HELD)
    assert record.attempt == 2
    time.sleep(1.5)  # as long as the shell behind the pipe would have taken
    assert not fleet.effects_of(occurrence)


def test_work_that_leaves_through_exit_is_unknown_at_once_and_its_words_go_nowhere(fleet: Fleet) -> None:
    fleet.start("a")
    occurrence = fleet.once("exiting", "fleet.exiting", kwargs={"words": "sekret"}, lease_ttl_ms=60_000)
    assert fleet.wait_for_state(occurrence, HELD).hold_reason == "HOLD_PRIOR_OUTCOME_UNKNOWN"
    job = fleet.store.attempts.get(occurrence).job_id
    wait_until(lambda: fleet.rq.hget(f"rq:job:{job}", "status") in {b"finished", b"failed"}, "RQ has recorded the job")
    kept = [fleet.rq.dump(key) for key in fleet.rq.keys("*") if not key.startswith(b"duly:schedule:")]
    assert not any(b"sekret" in dump for dump in kept)
    assert "sekret" not in (fleet.folder / "a.log").read_text()
