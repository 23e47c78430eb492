"""A fleet whose processes are killed at random, and the record compared with what happened."""

from __future__ import annotations

import os
import random
import signal

import pytest

from tests.fleet.harness import Container, Fleet
from tests.fleet.processes import alive, send, wait_until
from tests.fleet.tally import (
    assert_every_tick_is_accounted_for,
    assert_leases_pass_on_in_order,
    assert_no_attempt_has_two_effects,
    assert_no_success_without_an_effect,
    assert_nothing_is_early,
    history,
)

pytestmark = pytest.mark.fleet

RUN_MS = 20_000
SEED = int(os.environ.get("FLEET_TEST_SEED", "20260101"))
NAMES = ("a", "b", "c", "d")
SCHEDULES = {
    "once": {"missed_run_policy": "run_once"},
    "latest": {"missed_run_policy": "skip", "overlap": "allow"},
    "all": {"missed_run_policy": "backfill", "backfill_limit": 100, "overlap": "allow"},
    "buffered": {"missed_run_policy": "run_once", "overlap": "buffer_one"},
    "jittered": {"missed_run_policy": "backfill", "backfill_limit": 3, "jitter_window_ms": 400},
    "calendar": {"missed_run_policy": "run_once", "spec": "* * * * * *"},
}


class Havoc:
    """Kills what it finds, and starts again what it ended."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._random = random.Random(SEED)
        self.done: list[str] = []

    def strike(self) -> None:
        """One kill, drawn at random."""
        blow = self._random.choice([self._duty_holder, self._busy_container, self._worker, self._work_horse])
        blow()
        self.done.append(blow.__name__)

    def pause_ms(self) -> float:
        return self._random.uniform(300, 1_600)

    def _duty_holder(self) -> None:
        holder = wait_until(self._fleet.holder, "somebody holds the duty")
        self._replace(self._fleet.containers[str(holder).partition(".")[0]])

    def _busy_container(self) -> None:
        self._replace(self._busy()[0])

    def _worker(self) -> None:
        container = self._fleet.containers[self._random.choice(NAMES)]
        send(container.pid_of(self._random.choice(["s", "1"])), signal.SIGKILL)

    def _work_horse(self) -> None:
        send(self._busy()[1], signal.SIGKILL)

    def _replace(self, container: Container) -> None:
        before = container.kill()
        wait_until(lambda: not any(alive(pid) for pid in before), "nothing of it is left", 2.0)
        self._fleet.start(container.name)

    def _busy(self) -> tuple[Container, int]:
        """A container, and its work-horse in the middle of its work."""

        def found() -> tuple[Container, int] | None:
            ended = {each.fencing_token for each in self._fleet.effects("ended")}
            working = {each.pid for each in self._fleet.effects("began") if each.fencing_token not in ended}
            for container in self._fleet.containers.values():
                for pid in container.everything():
                    if pid in working and alive(pid):
                        return container, pid
            return None

        busy = wait_until(found, "a work-horse is busy")
        assert busy is not None
        return busy


def test_killing_duty_holders_and_busy_workers_at_random_loses_nothing_and_repeats_nothing(fleet: Fleet) -> None:
    for name in NAMES:
        fleet.start(name)
    fleet.wait_for_workers(*(f"{name}.1" for name in NAMES))
    fields = {"kwargs": {"before_ms": 150, "after_ms": 150}, "lease_ttl_ms": 1_000, "retry_budget": 100}
    first = {name: fleet.add(name, **fields, **special).next_run_ms for name, special in SCHEDULES.items()}
    havoc = Havoc(fleet)
    start_ms = fleet.now_ms()
    while fleet.now_ms() < start_ms + RUN_MS:
        fleet.wait_for_instant(fleet.now_ms() + havoc.pause_ms())
        havoc.strike()
    fleet.settle(*first)

    print(havoc.done)
    assert len(havoc.done) >= 6
    effects = fleet.effects()
    assert_no_attempt_has_two_effects(effects)
    assert_no_success_without_an_effect(fleet.occurrences(), effects)
    for schedule_id, first_ms in first.items():
        assert first_ms is not None
        ticks = assert_every_tick_is_accounted_for(fleet.store, schedule_id, first_ms)
        assert len(ticks) >= RUN_MS // 1000 - 2
        assert_nothing_is_early(fleet.store, schedule_id, effects)
        assert_leases_pass_on_in_order(fleet.store, schedule_id, effects)
    # It was not for nothing: attempts were lost, and made again.
    assert [each for name in first for each in history(fleet.store, name) if each.event == "outcome_unknown"]
    states = {each.state.value for each in fleet.occurrences()}
    assert states <= {"SUCCEEDED", "COALESCED"}
    # The backfilling schedule runs every single tick, whatever was killed.
    everything = {each.tick_ms for each in effects if each.schedule_id == "all"}
    assert everything == {each.occurrence.tick_ms for each in fleet.occurrences("all")}
