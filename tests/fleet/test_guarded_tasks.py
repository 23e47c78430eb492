"""Guarded tasks: after an unknown outcome the probe says whether the effect is there."""

from __future__ import annotations

import os
import signal

import pytest

from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Fleet

pytestmark = pytest.mark.fleet

HELD, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.SUCCEEDED


def test_the_probe_decides_after_a_kill_before_the_effect_after_it_and_when_it_cannot_tell(fleet: Fleet) -> None:
    fleet.start("a", workers=3)
    fleet.wait_for_workers("a.1", "a.2", "a.3")
    fast_retry = {"backoff": {"base_ms": 100}}
    committed = fleet.once("committed", "fleet.guarded", kwargs={"after_ms": 20_000}, **fast_retry)
    nothing = fleet.once("nothing", "fleet.guarded", kwargs={"before_ms": 1_500}, **fast_retry)
    unsure = fleet.once("unsure", "fleet.guarded_unsure", kwargs={"after_ms": 20_000}, **fast_retry)
    for occurrence, kind in ((committed, "effect"), (nothing, "began"), (unsure, "effect")):
        os.kill(fleet.wait_for_effect(occurrence, kind).pid, signal.SIGKILL)

    record = fleet.wait_for_state(committed, SUCCEEDED)
    assert (record.reason, record.prior_outcome, record.attempt) == ("probe", "COMMITTED", 2)
    assert [each.attempt for each in fleet.effects_of(committed)] == [1]
    assert len(fleet.effects_of(committed, "began")) == 1

    record = fleet.wait_for_state(nothing, SUCCEEDED)
    assert (record.reason, record.attempt) == (None, 2)
    assert [each.attempt for each in fleet.effects_of(nothing)] == [2]
    assert len(fleet.effects("probed", idempotency_key=record.idempotency_key)) == 1

    record = fleet.wait_for_state(unsure, HELD)
    assert record.hold_reason == "HOLD_PRIOR_OUTCOME_UNKNOWN"
    assert [each.attempt for each in fleet.effects_of(unsure, "began")] == [1]


def test_a_probe_that_hangs_is_stopped_and_knows_nothing(fleet: Fleet) -> None:
    fleet.start("a")
    fleet.wait_for_workers("a.1")
    hanging = fleet.once("hanging", "fleet.guarded_hanging", kwargs={"after_ms": 20_000}, backoff={"base_ms": 100})
    os.kill(fleet.wait_for_effect(hanging, "effect").pid, signal.SIGKILL)
    record = fleet.wait_for_state(hanging, HELD)
    assert record.hold_reason == "HOLD_PRIOR_OUTCOME_UNKNOWN"
    assert [each.attempt for each in fleet.effects_of(hanging, "began")] == [1]


def test_a_probe_resolves_what_has_no_attempt_left(fleet: Fleet) -> None:
    fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    committed = fleet.once("committed", "fleet.guarded", kwargs={"after_ms": 20_000}, retry_budget=1)
    nothing = fleet.once("nothing", "fleet.guarded", kwargs={"before_ms": 20_000}, retry_budget=1)
    for occurrence, kind in ((committed, "effect"), (nothing, "began")):
        os.kill(fleet.wait_for_effect(occurrence, kind).pid, signal.SIGKILL)
    record = fleet.wait_for_state(committed, SUCCEEDED)
    assert (record.reason, record.attempt, record.result_ref) == ("probe", 1, "probe: COMMITTED")
    record = fleet.wait_for_state(nothing, HELD)
    assert (record.hold_reason, record.attempt) == ("HOLD_RETRY_BUDGET_EXHAUSTED", 1)
    assert [each.attempt for each in fleet.effects_of(nothing, "began")] == [1]
