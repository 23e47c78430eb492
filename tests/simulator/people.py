"""Whoever acts on the fleet from outside: its editors, and whoever keeps the store's server, for worse."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from duly.common.errors import DulyError, StoreUnavailable
from tests.simulator.draw import draw_changes, draw_definition
from tests.simulator.world import World


def tried(world: World, deed: Callable[[], object]) -> bool:
    """Whether the store could be asked; what it refuses is only told."""
    try:
        deed()
    except StoreUnavailable:
        return False
    except DulyError as error:
        world.stage.say(f"refused: {error.code}")
    return True


class Editors:
    """Each public method is one actor's work, for as long as the run lasts, or until it is done."""

    def __init__(self, world: World, schedule_ids: list[str]) -> None:
        self._world, self._ids = world, schedule_ids
        self._rng, self._stage, self._store = world.rng, world.stage, world.store

    def edit(self) -> None:
        """Change schedules through the public store."""
        deeds = [self._update, self._update, self._pause, self._resume, self._replace, self._run, self._release]
        while True:
            self._stage.sleep(self._rng.choice([50, 150, 400, 900]))
            deed = self._rng.choice(deeds)
            self._stage.say(f"{deed.__name__.strip('_')}:")
            tried(self._world, partial(deed, self._rng.choice(self._ids)))

    def _update(self, schedule_id: str) -> None:
        record = self._store.schedules.get(schedule_id)
        changes = draw_changes(self._rng, record.definition)
        revision = record.revision if self._rng.random() < 0.5 else None
        self._store.schedules.update(schedule_id, changes, revision=revision)

    def _pause(self, schedule_id: str) -> None:
        until_ms = self._stage.now_ms + self._rng.choice([300, 900]) if self._rng.random() < 0.6 else None
        self._store.schedules.pause(schedule_id, "a pause", until_ms)

    def _resume(self, schedule_id: str) -> None:
        self._store.schedules.resume(schedule_id, self._rng.choice(["none", "latest"]))

    def _replace(self, schedule_id: str) -> None:
        if self._rng.random() < 0.5 and self._store.schedules.exists(schedule_id):
            self._store.schedules.delete(schedule_id)
        if self._rng.random() < 0.8:
            self._store.schedules.add(draw_definition(self._rng, schedule_id))

    def _run(self, schedule_id: str) -> None:
        self._store.manual.run(schedule_id, f"key-{self._rng.randint(1, 3)}")

    def _release(self, schedule_id: str) -> None:
        self._store.schedules.release(schedule_id)

    def resume_all(self) -> None:
        """At the end: no pause hides a tick. One that ends by itself is left to do so."""
        for schedule_id in self._ids:
            while not tried(self._world, partial(self._resume_for_good, schedule_id)):
                self._stage.sleep(100)

    def _resume_for_good(self, schedule_id: str) -> None:
        if self._store.schedules.get(schedule_id).paused_until_ms is None:
            self._resume(schedule_id)

    def pause_all(self) -> None:
        """At the very end: no new ticks."""
        for schedule_id in self._ids:
            deed = self._rng.choice([self._pause_for_good, self._store.schedules.delete])
            while not tried(self._world, partial(deed, schedule_id)):
                self._stage.sleep(100)

    def _pause_for_good(self, schedule_id: str) -> None:
        self._store.schedules.pause(schedule_id, "the end")


class Saboteur:
    """RQ's keys vanish, jobs come twice, the store forgets or is away: what the weather allows."""

    def __init__(self, world: World) -> None:
        self._world, self._rng, self._stage, self._records = world, world.rng, world.stage, world.records

    def break_things(self) -> None:
        """An actor's work, for as long as the run lasts."""
        weather = self._world.weather
        deeds = {
            self._lose_job: weather.vanishing_jobs,
            self._double_job: weather.doubled_jobs,
            self._forget_lease: weather.forgotten_leases,
            self._forget_claim: weather.forgotten_claims,
            self._write_lease: weather.foreign_leases,
            self._outage: weather.outages,
            self._rewrite_jobs: weather.rewritten_jobs,
        }
        allowed = [deed for deed, may in deeds.items() if may]
        jobs: list[str] = []
        while allowed:
            self._stage.sleep(self._rng.choice([30, 100, 300]))
            jobs = sorted({*jobs, *self._records.queued()})
            self._rng.choice(allowed)(jobs)

    def _lose_job(self, jobs: list[str]) -> None:
        queued = self._records.queued()
        if queued:
            job_id, entry = self._rng.choice(queued), self._rng.random() < 0.5
            self._records.drop_job(job_id, entry=entry)
            self._stage.say(f"{job_id} vanishes: {'its entry' if entry else 'its hash'}")

    def _rewrite_jobs(self, jobs: list[str]) -> None:
        for job_id in self._records.queued():
            self._records.rewrite_job(job_id)

    def _double_job(self, jobs: list[str]) -> None:
        if jobs:
            job_id = self._rng.choice(jobs[-8:])
            self._records.push_again(job_id)
            self._stage.say(f"{job_id} comes again")

    def _leased(self) -> str | None:
        """An occurrence that somebody owns, best one that is worked on."""
        owned = [each for each in self._world.all.of.values() if each.state in {"LEASED", "RUNNING"}]
        owned = [each for each in owned if each.acting] or owned
        return self._rng.choice(owned).member if owned and self._rng.random() < 0.7 else None

    def _forget_lease(self, jobs: list[str]) -> None:
        member = self._leased()
        if member and self._records.lease(member):
            self._world.all.of[member].forgotten = True
            self._records.forget_lease(member)
            self._stage.say(f"the store forgets the lease of {member}")

    def _forget_claim(self, jobs: list[str]) -> None:
        member = self._leased()
        before = self._records.forget_claim(member, fence=self._rng.random() < 0.5) if member else None
        if member and before:
            self._world.all.of[member].back_to(before)
            self._world.shadow.forget_fence()
            self._stage.say(f"the store forgets the claim of {member}")

    def _write_lease(self, jobs: list[str]) -> None:
        waiting = [each for each in self._world.all.of.values() if each.state == "PENDING"]
        if self._rng.random() < 0.3:
            waiting = [each for each in self._world.all.of.values() if each.state in {"LEASED", "RUNNING"}]
        if waiting and self._rng.random() < 0.3:
            seen = self._rng.choice(waiting)
            seen.foreign, seen.forgotten = True, seen.forgotten or seen.state != "PENDING"
            self._records.set_foreign_lease(seen.member, self._rng.choice([300, 3_000]))
            self._stage.say(f"somebody else writes the lease of {seen.member}")

    def _outage(self, jobs: list[str]) -> None:
        if self._rng.random() < 0.1:
            ms = self._rng.choice([200, 700, 1_500])
            self._world.outage_until_ms = self._stage.now_ms + ms
            self._stage.say(f"the store is away for {ms} ms")
