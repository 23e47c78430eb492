"""Comparing what happened with what is on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store

AUDIT_CAP = 100
ALL = 100_000


@dataclass(frozen=True)
class Effect:
    """One line that a task wrote. ``wall_ms`` is the clock that the server of these tests reads, too."""

    kind: str
    pid: int
    wall_ms: float
    mono_ms: float
    schedule_id: str = ""
    tick_ms: int = 0
    attempt: int = 0
    fencing_token: int = 0
    idempotency_key: str = ""
    label: str = ""

    @classmethod
    def from_line(cls, line: Mapping[str, Any]) -> Effect:
        return cls(**line)

    @property
    def name(self) -> str:
        return f"{self.schedule_id}@{self.tick_ms}"


def audit(store: Store, schedule_id: str) -> list[EnqueueEvent]:
    """The whole audit trail, oldest first; fails when it has been cut."""
    events, _ = store.trails.events(schedule_id, limit=ALL)
    assert len(events) < AUDIT_CAP, "the trail is full: the test runs too long to compare it"
    return events[::-1]


def history(store: Store, schedule_id: str, tick_ms: int | None = None) -> list[RunEvent]:
    """The run history of a schedule, or of one occurrence, oldest first."""
    events, _ = store.trails.runs(schedule_id, limit=ALL)
    return [each for each in reversed(events) if tick_ms in {None, each.tick_ms}]


def assert_every_tick_is_accounted_for(store: Store, schedule_id: str, first_ms: int) -> list[int]:
    """Each due tick since ``first_ms`` is in the audit trail, once; the ticks.

    Stands at the schedule's next run, so the schedule must be paused or its fleet ended.
    """
    record = store.schedules.get(schedule_id)
    assert record.next_run_ms is not None
    expression = record.definition.expression
    due = expression.most_recent(record.next_run_ms - 1, ALL, first_ms)
    accounted: Counter[int] = Counter()
    for event in audit(store, schedule_id):
        assert event.outcome != "failed", event
        ticks = [event.tick_ms]
        if event.reason == "backlog_dropped":
            ticks = expression.most_recent(event.last_tick_ms, ALL, event.first_tick_ms)
            assert len(ticks) == event.count, event
            assert (ticks[0], ticks[-1]) == (event.first_tick_ms, event.last_tick_ms), event
        accounted.update(ticks)
    assert accounted == Counter(due), (
        f"{schedule_id}: {accounted - Counter(due)} too many, {Counter(due) - accounted} lost"
    )
    return due


def assert_no_attempt_has_two_effects(effects: Iterable[Effect]) -> None:
    twice = [key for key, n in Counter((each.name, each.attempt) for each in effects).items() if n > 1]
    assert not twice


def assert_no_success_without_an_effect(records: Iterable[OccurrenceRecord], effects: Iterable[Effect]) -> None:
    """Nor an effect on an occurrence that is not on record."""
    records = list(records)
    happened = {each.name for each in effects}
    succeeded = {str(each.occurrence) for each in records if each.state is OccurrenceState.SUCCEEDED}
    assert not succeeded - happened
    assert not happened - {str(each.occurrence) for each in records}


def assert_nothing_is_early(store: Store, schedule_id: str, effects: Iterable[Effect]) -> None:
    assert not [each for each in audit(store, schedule_id) if each.recorded_ms < each.last_tick_ms]
    assert not [each for each in effects if each.schedule_id == schedule_id and each.wall_ms < each.tick_ms]


def assert_leases_pass_on_in_order(store: Store, schedule_id: str, effects: Iterable[Effect]) -> None:
    """Fencing tokens grow from lease to lease, and no effect of an attempt comes after the next lease is granted."""
    granted: dict[int, list[RunEvent]] = {}
    for event in history(store, schedule_id):
        if event.event == "acquired":
            granted.setdefault(event.tick_ms, []).append(event)
    leases = {(tick, lease.attempt): lease for tick, each in granted.items() for lease in each}
    for each in granted.values():
        for earlier, later in pairwise(each):
            assert (earlier.fencing_token or 0) < (later.fencing_token or 0)
            assert earlier.attempt + 1 == later.attempt
    for effect in effects:
        if effect.schedule_id != schedule_id:
            continue
        assert leases[effect.tick_ms, effect.attempt].fencing_token == effect.fencing_token
        following = leases.get((effect.tick_ms, effect.attempt + 1))
        assert following is None or effect.wall_ms < following.at_ms + 1, f"{effect} came after {following}"
