"""What a simulated worker is to its rounds: who makes them, and whom they tell."""

from __future__ import annotations

import contextlib

from duly.common.clock import Clock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.store.turns import Hand, Last, Turn
from duly.worker.performing import Kind
from duly.worker.rider import Rider
from duly.worker.rounds import Rounds
from duly.worker.tasks import task_names
from tests.simulator.internals import QUEUE
from tests.simulator.seen import EVIDENCE
from tests.simulator.stage import Process, Violation
from tests.simulator.stalls import SimulatedStable
from tests.simulator.world import World

STUMBLED = "workers do not stumble"


class Employed:
    """The worker that its rounds are made for; see `rounds.Employer`."""

    def __init__(self, world: World, process: Process) -> None:
        self._world, self._process = world, process
        self.must_stop = False

    def has_in_hand(self, hand: Hand) -> None:
        """RQ's worker notes it for its own commands."""

    def looks_after(self, hand: Hand, occurrence: Occurrence, *, first: bool) -> None:
        """RQ's worker gives a sign of life."""

    def has_succeeded(self) -> None:
        """RQ's worker counts it."""

    def has_done(self, hand: Hand, *, failed: bool) -> None:
        stops = self._world.rng.random() < self._world.weather.stops
        self.must_stop = self.must_stop or stops

    def has_lost(self, hand: Hand, occurrence: Occurrence, owner: str, why: str, status: int | None) -> None:
        stage = self._world.stage
        if why and self._process.alive and not stage.over and not stage.failure:
            stage.fail(Violation(STUMBLED, f"{occurrence}: {why}"))
        with contextlib.suppress(StoreUnavailable):
            self._world.store.attempts.report_death(occurrence.schedule_id, owner, "worker_died")


class WatchedRounds(Rounds):
    """Rounds whose work-horse is known by the name of the attempt that it makes."""

    def __init__(
        self, world: World, stable: SimulatedStable, employer: Employed, process: Process, clock: Clock
    ) -> None:
        super().__init__(world.store, stable, employer, process.name, process.pid, lambda: [QUEUE], clock)
        self._world, self._its_stable = world, stable
        lacks = world.weather.ignorant_workers and world.rng.random() < 0.5
        self._unknown = world.rng.choice(task_names()) if lacks else ""

    def _run(self, given: Hand | None) -> int:
        if not self._world.work.calm:
            self._tasks = [each for each in self._tasks if each != self._unknown]
        return super()._run(given)

    def _ride(self, turn: Turn, owner: str, asked_ms: float) -> tuple[Last | None, Rider | None]:
        self._its_stable.owner, self._its_stable.said = owner, ""
        last, rider = super()._ride(turn, owner, asked_ms)
        if self._its_stable.said == Kind.SUCCEEDED and last is not None and last.success is None:
            self._world.stage.fail(Violation(EVIDENCE, f"the success of {turn.occurrence} is lost: its worker goes on"))
        return last, rider
