"""The fleet's processes: workers with a work-horse for each job, and candidates for the duty. Their code is real."""

from __future__ import annotations

import contextlib
from functools import partial

import redis

from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.scheduler.service import Candidate
from duly.scheduler.sweep import Sweeper
from duly.worker.attempt import Attempter
from tests.simulator.internals import QUEUE_KEY
from tests.simulator.kernel import SimulatedClock
from tests.simulator.stage import Process
from tests.simulator.world import World

FOREVER = 1e12


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
        self._stage.sleep(wait_ms)
        while True:
            self._stage.sleep(FOREVER, lambda: self._world.records.queue_length() > 0)
            try:
                job_id = self._world.store.client.lpop(QUEUE_KEY)
            except redis.exceptions.RedisError:
                self._stage.sleep(100)
                continue
            if job_id:
                self._run_job(process, job_id)

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
        candidate = Candidate(world.store, Sweeper(world.store), process.name, self._clock)
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
