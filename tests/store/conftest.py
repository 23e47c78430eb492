"""A fleet without processes: the sweep and the attempts are called step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from duly.common.identity import Occurrence, new_token
from duly.common.records.definition import ScheduleDefinition, define
from duly.common.records.occurrence import Effects, OccurrenceRecord
from duly.common.records.schedule import ScheduleRecord
from duly.common.store import Store
from duly.common.store.attempts import Carried, Claim, Grant, Lease
from duly.scheduler.hooks import Hook, Hooks
from duly.scheduler.sweep import Sweep, Sweeper
from duly.worker.gate import judge
from tests.conftest import Backend

DEFAULTS: dict[str, Any] = {
    "schedule_id": "docs",
    "spec": "@every:100",
    "task": "docs.refresh",
    "missed_run_policy": "run_once",
    "review_owner": "ann",
    "lease_ttl_ms": 1_000,
    "backoff": {"base_ms": 50, "factor": 2, "max_ms": 1_000},
}


def definition(**fields: Any) -> ScheduleDefinition:
    """A valid definition; fields override the defaults."""
    return define({**DEFAULTS, **fields})


@dataclass
class Bench:
    """A store, one duty holder, and what tests do with them again and again."""

    backend: Backend
    store: Store
    token: str = field(default_factory=new_token)
    hooks: list[Hook] = field(default_factory=list)
    doctored: bool = False
    """The test wrote a record that the scripts would not write."""

    def __post_init__(self) -> None:
        self.sweeper = Sweeper(self.store, Hooks(self.hooks))
        self.take_duty()

    def take_duty(self) -> None:
        fence, _ = self.store.sweeping.claim_duty(self.token, "tester.s", 60_000)
        assert fence is not None

    def add(self, **fields: Any) -> ScheduleRecord:
        return self.store.schedules.add(definition(**fields))

    def sweep(self) -> Sweep:
        """Sweep until there is nothing to do at this instant."""
        self.take_duty()
        while True:
            done = self.sweeper.sweep_once(self.token)
            assert done is not None
            if not done.more:
                return done

    def pass_time(self, ms: int) -> None:
        self.backend.advance(ms)

    def until(self, instant_ms: int) -> None:
        """Let time pass until the store's clock has reached the instant."""
        while (left := instant_ms - self.store.schedules.now_ms()) > 0:
            self.backend.advance(left)

    def due(self, schedule_id: str = "docs") -> Occurrence:
        """Wait for the schedule's next tick and sweep: the occurrence that the sweep enqueued last."""
        self.due_again(schedule_id)
        accepted = [e for e in self.events(schedule_id) if e[1:] == ("enqueued", "accepted")]
        return Occurrence(schedule_id, accepted[0][0])

    def due_again(self, schedule_id: str = "docs") -> None:
        """Wait for the schedule's next tick and sweep, whatever becomes of the tick."""
        record = self.store.schedules.get(schedule_id)
        assert record.next_run_ms is not None
        self.until(record.definition.timetable.release_ms(record.next_run_ms))
        self.sweep()

    def lease_of(self, occurrence: Occurrence) -> Lease:
        """The lease that the record names."""
        r = self.record(occurrence)
        assert r.lease_id is not None
        assert r.lease_owner is not None
        assert r.fencing_token is not None
        expires_ms = r.lease_expires_ms or 0
        return Lease(occurrence, r.lease_id, r.lease_owner, r.fencing_token, r.attempt, 0, 1_000, expires_ms)

    def events(self, schedule_id: str = "docs") -> list[tuple[int, str, str]]:
        """(tick, outcome, reason) of the audit trail, newest first."""
        return [(e.tick_ms, e.outcome, e.reason) for e in self.store.trails.events(schedule_id, 100)[0]]

    def history(self, schedule_id: str = "docs") -> list[str]:
        """The events of the run history, oldest first."""
        return [e.event for e in self.store.trails.runs(schedule_id, 100)[0]][::-1]

    def queue(self, name: str = "default") -> list[str]:
        return list(self.backend.client.lrange(f"rq:queue:{name}", 0, -1))

    def acquire(self, occurrence: Occurrence, attempt: int = 1, owner: str = "w@1") -> Grant:
        return self.store.attempts.acquire(occurrence, attempt, new_token(), owner)

    def lease(self, occurrence: Occurrence, attempt: int = 1, owner: str = "w@1") -> Lease:
        grant = self.acquire(occurrence, attempt, owner)
        assert grant.claim is Claim.ACQUIRED
        assert grant.lease is not None
        return grant.lease

    def running(self, occurrence: Occurrence, attempt: int = 1, effects: Effects = Effects.UNSAFE) -> Lease:
        lease = self.lease(occurrence, attempt)
        assert self.begin(lease, effects) is Carried.BEGUN
        return lease

    def begin(self, lease: Lease, effects: Effects = Effects.UNSAFE) -> Carried:
        """Decide from the evidence as it is now and, where the contract lets it run, begin."""
        while True:
            judgement = judge(self.store.attempts.evidence(lease.occurrence), effects, "NO_COMMITTED_RESULT")
            assert judgement.decision.runs, judgement.decision
            word = self.store.attempts.begin(lease, effects, judgement).word
            if word is not Carried.CHANGED:
                return word

    def expire(self, occurrence: Occurrence) -> None:
        """The lease is over: its key is gone, and the sweep is told to look."""
        self.backend.client.delete(self.store.keys.lease(occurrence))
        self.backend.client.zadd(self.store.keys.watch, {str(occurrence): 0})

    def record(self, occurrence: Occurrence) -> OccurrenceRecord:
        return self.store.attempts.get(occurrence)

    def held(self) -> list[tuple[str, str | None]]:
        return [(str(r.occurrence), r.hold_reason) for r in self.store.holds.page(100)[0]]


@pytest.fixture
def bench(backend: Backend) -> Iterator[Bench]:
    yield from checked(Bench(backend, backend.store()))


@pytest.fixture
def fake_bench(fake: Backend) -> Iterator[Bench]:
    yield from checked(Bench(fake, fake.store()))


@pytest.fixture
def valkey_bench(valkey: Backend) -> Iterator[Bench]:
    yield from checked(Bench(valkey, valkey.store()))


def checked(bench: Bench) -> Iterator[Bench]:
    """The bench; whatever a test does with it, every decision it leaves follows from its recorded evidence."""
    yield bench
    if bench.doctored:
        return
    for key in bench.backend.client.scan_iter(bench.store.keys.occurrence(Occurrence("*", 0)).removesuffix("0") + "*"):
        record = bench.store.attempts.find(Occurrence.parse(key.rpartition(":")[2]))
        if record is not None:
            assert [(d.decision, d.again().decision) for d in record.decisions] == [
                (d.decision, d.decision) for d in record.decisions
            ], record
