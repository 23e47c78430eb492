"""SIGTERM: what runs is finished and recorded, the duty is handed over; asked twice, work is given up on record."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from duly.common.records.occurrence import OccurrenceState
from tests.fleet.harness import Container, Fleet, Server
from tests.fleet.processes import alive, descendants, send, wait_until

pytestmark = pytest.mark.fleet

HELD, RETRY_WAIT, SUCCEEDED = OccurrenceState.HELD, OccurrenceState.RETRY_WAIT, OccurrenceState.SUCCEEDED
LONG = {"kwargs": {"before_ms": 60_000}, "queue": "stopping", "lease_ttl_ms": 30_000}


def assert_ends_cleanly(container: Container, within_s: float, code: int = 0) -> None:
    before = container.everything()
    assert container.process.wait(timeout=within_s) == code
    wait_until(lambda: not any(alive(pid) for pid in before), "nothing of it is left", 2.0)


def test_a_stopped_container_finishes_its_attempts_and_hands_the_duty_over_at_once(
    new_fleet: Callable[..., Fleet],
) -> None:
    fleet = new_fleet(duty_ttl_ms=20_000)
    stopping = fleet.start("a", queues=["stopping"])
    fleet.wait_for_holder("a.s")
    fleet.start("b")
    fleet.wait_for_workers("a.1", "b.1", "b.s")
    running = fleet.once("running", "fleet.unsafe", kwargs={"before_ms": 2_000}, queue="stopping")
    record = fleet.add("ticks")
    fleet.wait_for_effect(running)
    stopping.process.send_signal(signal.SIGTERM)
    stopped_ms = fleet.now_ms()
    fleet.wait_for_holder("b.s", deadline_s=8)
    assert fleet.now_ms() - stopped_ms < 5_000, "well before the duty would have expired"
    assert fleet.wait_for_state(running, SUCCEEDED).attempt == 1
    assert_ends_cleanly(stopping, 10)
    assert len(fleet.effects_of(running, "ended")) == 1
    # The new holder goes on with the next ticks.
    wait_until(lambda: len(fleet.effects(schedule_id="ticks")) >= 2, "ticks go on")
    assert record.next_run_ms is not None


def test_an_idle_container_stops_at_once(fleet: Fleet) -> None:
    idle = fleet.start("a", workers=2)
    fleet.wait_for_workers("a.1", "a.2")
    fleet.wait_for_holder("a.s")
    idle.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(idle, 5)
    assert fleet.holder() is None
    assert fleet.store.fleet.snapshot()["workers"] == []


def test_an_idle_container_does_not_wait_for_a_store_that_does_not_answer(fleet: Fleet, server: Server) -> None:
    idle = fleet.start("a")
    fleet.wait_for_workers("a.1")
    fleet.wait_for_holder("a.s")
    server.freeze()
    idle.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(idle, 9)


def test_a_second_signal_gives_the_attempts_up_on_record(fleet: Fleet) -> None:
    stopping = fleet.start("a", workers=2, queues=["stopping"])
    fleet.wait_for_workers("a.1", "a.2")
    unsafe = fleet.once("unsafe", "fleet.unsafe", **LONG)
    idempotent = fleet.once("idempotent", "fleet.idempotent", **LONG)
    for each in (unsafe, idempotent):
        fleet.wait_for_effect(each)
    stopping.process.send_signal(signal.SIGTERM)
    # Signals less than a second apart count as one: a terminal and a supervisor may both send theirs.
    fleet.wait_for_instant(fleet.now_ms() + 1_200)
    assert fleet.store.attempts.get(unsafe).state is OccurrenceState.RUNNING
    stopping.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(stopping, 8)
    assert fleet.store.attempts.get(unsafe).state is HELD
    assert fleet.store.attempts.get(idempotent).state is RETRY_WAIT
    assert not fleet.effects()


@pytest.mark.parametrize("grace_ms", [400, 1_500])
def test_the_end_of_the_grace_gives_the_attempts_up_on_record(fleet: Fleet, grace_ms: int) -> None:
    stopping = fleet.start("a", queues=["stopping"], grace_ms=grace_ms)
    fleet.wait_for_workers("a.1")
    unsafe = fleet.once("unsafe", "fleet.unsafe", **LONG)
    fleet.wait_for_effect(unsafe)
    stopping.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(stopping, 8)
    held = fleet.store.attempts.get(unsafe)
    assert (held.state, held.hold_reason) == (HELD, "HOLD_PRIOR_OUTCOME_UNKNOWN")
    assert not fleet.effects()


def test_a_stop_sent_to_every_process_twice_in_a_moment_still_finishes_what_runs(fleet: Fleet) -> None:
    """As an init system does that signals a whole control group, and `timeout`, which signals twice."""
    stopping = fleet.start("a")
    fleet.wait_for_workers("a.1")
    running = fleet.once("running", "fleet.unsafe", kwargs={"before_ms": 2_000})
    fleet.wait_for_effect(running)
    for _ in range(2):
        for pid in (stopping.process.pid, *descendants(stopping.process.pid)):
            send(pid, signal.SIGTERM)
    assert_ends_cleanly(stopping, 10)
    assert fleet.store.attempts.get(running).state is SUCCEEDED
    assert len(fleet.effects_of(running, "ended")) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_burst_finishes_what_runs_and_takes_nothing_further(fleet: Fleet, number: signal.Signals) -> None:
    running = fleet.once("running", "fleet.unsafe", kwargs={"before_ms": 2_000})
    fleet.wait_for_instant(running.tick_ms)
    stopping = fleet.start("a", burst=True)
    fleet.wait_for_effect(running)
    waiting = fleet.store.manual.run("running", "after the one that runs").occurrence
    stopping.process.send_signal(number)
    assert_ends_cleanly(stopping, 10, 128 + number)
    assert fleet.store.attempts.get(running).state is SUCCEEDED
    assert len(fleet.effects_of(running, "ended")) == 1
    assert fleet.store.attempts.get(waiting).state is OccurrenceState.PENDING


def test_a_burst_that_is_stopped_twice_gives_the_attempts_up_on_record(fleet: Fleet) -> None:
    unsafe = fleet.once("unsafe", "fleet.unsafe", kwargs={"before_ms": 60_000})
    fleet.wait_for_instant(unsafe.tick_ms)
    stopping = fleet.start("a", burst=True)
    fleet.wait_for_effect(unsafe)
    stopping.process.send_signal(signal.SIGTERM)
    fleet.wait_for_instant(fleet.now_ms() + 1_200)
    assert fleet.store.attempts.get(unsafe).state is OccurrenceState.RUNNING
    stopping.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(stopping, 8, 128 + signal.SIGTERM)
    assert fleet.store.attempts.get(unsafe).state is HELD
    assert not fleet.effects()


def test_the_end_of_the_grace_gives_up_what_a_stopped_burst_runs(fleet: Fleet) -> None:
    unsafe = fleet.once("unsafe", "fleet.unsafe", kwargs={"before_ms": 60_000})
    fleet.wait_for_instant(unsafe.tick_ms)
    stopping = fleet.start("a", burst=True, grace_ms=400)
    fleet.wait_for_effect(unsafe)
    stopping.process.send_signal(signal.SIGTERM)
    assert_ends_cleanly(stopping, 8, 128 + signal.SIGTERM)
    assert fleet.store.attempts.get(unsafe).state is HELD
