"""The fleet's processes: workers with their work-horses, and candidates for the duty. Their code is real."""

from __future__ import annotations

import contextlib
from functools import partial

import redis

from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.store.turns import Hand
from duly.scheduler.service import Candidate
from duly.scheduler.sweep import Sweeper
from duly.worker.attempt import Attempter
from duly.worker.horse import Limits
from duly.worker.rounds import Rounds
from tests.simulator.employed import Employed, WatchedRounds
from tests.simulator.internals import IN_BETWEEN_KEY, QUEUE, QUEUE_KEY
from tests.simulator.kernel import SimulatedClock
from tests.simulator.stage import Process
from tests.simulator.stalls import FOREVER, SimulatedStable
from tests.simulator.world import World


class Fleet:
    """Starts processes, and others in the place of those that died."""

    def __init__(self, world: World) -> None:
        self._world, self._stage = world, world.stage
        self._clock = SimulatedClock(world.stage)
        self._started = 0

    def start(self) -> None:
        for _ in range(self._world.weather.workers):
            self._start_worker(0)
        for _ in range(self._world.weather.candidates):
            self._start_candidate(0)

    def tend(self) -> None:
        """What keeps containers running: a process that ended is started again, under another name."""
        world = self._world
        for kind, wanted, start in (
            ("worker", world.weather.workers, self._start_worker),
            ("candidate", max(world.weather.candidates, 1), self._start_candidate),
        ):
            there = sum(actor.process.notes.get("kind") == kind for actor in self._stage.actors)
            for _ in range(wanted - there):
                start(world.rng.choice([0, 200, 1_500]))

    def _name(self, kind: str) -> str:
        self._started += 1
        return f"{kind}{self._started}"

    def operator(self) -> None:
        """An actor's work: look after the processes now and then."""
        while True:
            self._stage.sleep(250)
            self.tend()

    # Workers.
    def _start_worker(self, wait_ms: int) -> None:
        process = self._world.process(self._name("w"))
        process.notes["kind"] = "worker"
        self._world.start(process, lambda: self._worker(process, wait_ms))

    def _worker(self, process: Process, wait_ms: int) -> None:
        """What RQ does: it waits for a job, and takes the first into its hand."""
        world, stage = self._world, self._stage
        stage.sleep(wait_ms)
        limits = Limits(jobs=world.rng.choice([1, 3, 1_000]))
        stable = SimulatedStable(process, lambda: self._name(f"{process.name}.h"), limits, world.misfortune)
        employer = Employed(world, process)
        rounds = WatchedRounds(world, stable, employer, process, self._clock)
        dawdles_ms = world.rng.choice([0, 300, 600])  # so that there is more than one job for its round
        while not employer.must_stop:
            stage.sleep(FOREVER, lambda: world.records.queue_length() > 0)
            stage.sleep(dawdles_ms, lambda: world.records.queue_length() > 1)
            try:
                job_id = world.store.client.lmove(QUEUE_KEY, IN_BETWEEN_KEY, "LEFT", "RIGHT")
            except redis.exceptions.RedisError:
                stage.sleep(100)
                continue
            if job_id:
                self._job_in_hand(process, rounds, str(job_id))
        stable.dismiss()

    def _job_in_hand(self, process: Process, rounds: Rounds, job_id: str) -> None:
        if self._world.weather.rewritten_jobs and self._world.rng.random() < 0.5:
            self._world.records.rewrite_job(job_id)
        try:
            if rounds.run(Hand(job_id, QUEUE)) == 0:
                self._run_job(process, job_id)
        except StoreUnavailable as error:
            self._stage.say(f"the round ends: {error.code}")

    def _run_job(self, process: Process, job_id: str) -> None:
        call = self._world.records.job_call(job_id)
        if call is None:
            return  # RQ drops a job whose hash is gone
        schedule_id, tick_ms, attempt = call
        horse = self._world.process(self._name(f"{process.name}.h"), process)
        horse.notes.update(parent=process, asked=(Occurrence(schedule_id, tick_ms), attempt), said=None)
        actor = self._world.start(horse, lambda: self._horse(horse))
        self._stage.sleep(FOREVER, lambda: actor.ended)
        if horse.notes["said"] is None:
            self._report(schedule_id, horse)

    def _horse(self, horse: Process) -> None:
        occurrence, attempt = horse.notes["asked"]
        try:
            said = Attempter(self._world.store, horse.name, self._clock).attempt(occurrence, attempt)
        except StoreUnavailable as error:
            said = error.code
        horse.notes["said"] = said
        self._stage.say(f"attempt ended: {said}")

    def _report(self, schedule_id: str, horse: Process) -> None:
        with contextlib.suppress(StoreUnavailable):
            self._world.store.attempts.report_death(schedule_id, horse.name, "worker_died")

    # Candidates.
    def _start_candidate(self, wait_ms: int) -> None:
        process = self._world.process(self._name("c"))
        process.notes["kind"] = "candidate"
        self._world.start(process, lambda: self._candidate(process, wait_ms))

    def _woken(self, seen: int) -> bool:
        return self._world.published != seen

    def _candidate(self, process: Process, wait_ms: int) -> None:
        self._stage.sleep(wait_ms)
        world, stage = self._world, self._stage
        candidate = Candidate(world.store, Sweeper(world.store, clock=self._clock), process.name, self._clock)
        while True:
            wait = candidate.step()
            if wait > 0:
                seen = world.published
                stage.sleep(wait, None if world.rng.random() < 0.1 else partial(self._woken, seen))
            elif not candidate.holding:
                stage.sleep(0)
            if candidate.holding and world.rng.random() < world.weather.stops:
                stage.say("stops, and hands the duty over")
                stage.sleep(world.rng.choice([0, 0, 1_300]))
                candidate.stop()
                return
