"""What became of every tick, recomputed from the records alone, and whether a promise was broken. Pure.

The rules, in the order in which they are checked, are the promises that records can show: no due tick without an
audit outcome, none dispatched before its time, no effect and no success without a lease of its own, one effect at
most for one attempt, one success at most for one occurrence, no second effect of work that must not be repeated, no
decision that does not follow from its evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from duly.common.demo.journal import Effect
from duly.common.instant import to_rfc3339
from duly.common.records.occurrence import Effects, OccurrenceRecord, OccurrenceState
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.timetable import Timetable

_RESOLVED = {"resolved", "probe"}
"""Reasons of a success that a reviewer or a probe stated, instead of an attempt that ran to its end."""


@dataclass(frozen=True, slots=True)
class ScheduleRecords:
    """All that was recorded of one schedule; events and runs oldest first.

    Ticks after ``created_ms`` and before ``stands_at_ms`` (where the schedule stands) were due. ``complete`` is
    False when a trail reached its cap, so that its beginning is gone.
    """

    timetable: Timetable
    created_ms: int
    stands_at_ms: int
    events: Sequence[EnqueueEvent]
    runs: Sequence[RunEvent]
    occurrences: Sequence[OccurrenceRecord]
    effects: Sequence[Effect]
    complete: bool = True

    @property
    def schedule_id(self) -> str:
        return self.timetable.schedule_id


@dataclass(frozen=True, slots=True)
class Row:
    """The counts of one schedule. ``due`` ticks each are enqueued, skipped, dropped, or vanished."""

    schedule_id: str
    due: int
    enqueued: int
    skipped: int
    dropped: int
    coalesced: int
    held: int
    succeeded: int
    attempts: int
    effects: int
    duplicates: int
    vanished: int

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts, and one line for each promise found broken. ``open``: occurrences that have not ended; ``decisions``:
    how many were made again from their evidence.
    """

    rows: list[Row] = field(default_factory=list)
    decisions: int = 0
    broken: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    @property
    def kept(self) -> bool:
        return not self.broken

    def to_dict(self) -> dict[str, Any]:
        return {
            "schedules": [row.to_dict() for row in self.rows],
            "decisions": self.decisions,
            "promises_kept": self.kept,
            "broken": self.broken,
            "open": self.open,
        }


def tally(schedules: Sequence[ScheduleRecords]) -> Tally:
    """Count and judge the records of some schedules."""
    made = Tally(decisions=sum(len(each.decisions) for records in schedules for each in records.occurrences))
    for records in schedules:
        made.rows.append(_count(records))
        made.broken.extend(_broken(records))
        made.open.extend(
            f"{o.occurrence} is {o.state.value}" for o in records.occurrences if not (o.state.terminal or _is_held(o))
        )
    return made


def _count(records: ScheduleRecords) -> Row:
    outcomes = Counter(_outcomes(records).values())
    return Row(
        schedule_id=records.schedule_id,
        due=len(_due_ticks(records)),
        enqueued=outcomes["enqueued"] + outcomes["deduplicated"],
        skipped=outcomes["skipped"],
        dropped=sum(event.count for event in records.events if event.reason == "backlog_dropped"),
        coalesced=sum(1 for each in records.occurrences if each.state is OccurrenceState.COALESCED),
        held=len({run.tick_ms for run in records.runs if run.event == "held"}),
        succeeded=sum(1 for each in records.occurrences if each.state is OccurrenceState.SUCCEEDED),
        attempts=sum(1 for run in records.runs if run.event == "acquired"),
        effects=sum(1 for effect in records.effects if not effect.repeated),
        duplicates=len(list(_duplicates(records))),
        vanished=len(_vanished(records)),
    )


def _broken(records: ScheduleRecords) -> Iterator[str]:
    if not records.complete:
        yield f"{records.schedule_id}: a trail reached its cap; the tally is not complete"
    for tick_ms in _vanished(records):
        yield f"{_named(records, tick_ms)} was due and has no outcome on record"
    yield from _early(records)
    yield from _unrecorded(records)
    yield from _double_leases(records)
    yield from _effects_without_lease(records)
    yield from _duplicates(records)
    yield from _false_successes(records)
    yield from _unfounded(records)


def _due_ticks(records: ScheduleRecords) -> list[int]:
    ticks, tick_ms = [], records.timetable.next_after(records.created_ms)
    while tick_ms is not None and tick_ms < records.stands_at_ms:
        ticks.append(tick_ms)
        tick_ms = records.timetable.next_after(tick_ms)
    return ticks


def _outcomes(records: ScheduleRecords) -> dict[int, str]:
    """The outcome of each tick that has a record of its own."""
    return {event.tick_ms: event.outcome for event in records.events if event.reason != "backlog_dropped"}


def _vanished(records: ScheduleRecords) -> list[int]:
    single = _outcomes(records)
    dropped = [(e.first_tick_ms, e.last_tick_ms) for e in records.events if e.reason == "backlog_dropped"]
    return [
        tick_ms
        for tick_ms in _due_ticks(records)
        if tick_ms not in single and not any(first <= tick_ms <= last for first, last in dropped)
    ]


def _early(records: ScheduleRecords) -> Iterator[str]:
    for event in records.events:
        if event.recorded_ms < records.timetable.release_ms(event.tick_ms):
            early_ms = event.tick_ms - event.recorded_ms
            yield f"{_named(records, event.tick_ms)} was dispatched {early_ms} ms before its time"


def _unrecorded(records: ScheduleRecords) -> Iterator[str]:
    known = {each.occurrence.tick_ms for each in records.occurrences}
    for event in records.events:
        if event.outcome == "enqueued" and event.tick_ms not in known:
            yield f"{_named(records, event.tick_ms)} was enqueued and has no record"


def _double_leases(records: ScheduleRecords) -> Iterator[str]:
    """Each lease of an occurrence has a larger fencing token than the one before, and is granted after its end."""
    latest: dict[int, int] = {}
    leased: set[int] = set()
    for run in records.runs:
        if run.event == "acquired" and run.fencing_token is not None:
            if run.tick_ms in leased:
                yield f"{_named(records, run.tick_ms)} was leased twice at one time"
            if run.fencing_token <= latest.get(run.tick_ms, 0):
                yield f"{_named(records, run.tick_ms)} was leased under a fencing token that did not grow"
            latest[run.tick_ms] = run.fencing_token
            leased.add(run.tick_ms)
        elif run.state not in {"LEASED", "RUNNING"}:
            leased.discard(run.tick_ms)


def _leases(records: ScheduleRecords, event: str) -> set[tuple[int, int, int | None]]:
    """(tick, attempt, fencing token) of each transition of this kind."""
    return {(run.tick_ms, run.attempt, run.fencing_token) for run in records.runs if run.event == event}


def _effects_without_lease(records: ScheduleRecords) -> Iterator[str]:
    begun = _leases(records, "began")
    for effect in records.effects:
        if (effect.tick_ms, effect.attempt, effect.fencing_token) not in begun:
            yield f"{_named(records, effect.tick_ms)} attempt {effect.attempt} had an effect without a lease"


def _duplicates(records: ScheduleRecords) -> Iterator[str]:
    attempts = Counter((effect.tick_ms, effect.attempt) for effect in records.effects)
    for (tick_ms, attempt), count in attempts.items():
        if count > 1:
            yield f"{_named(records, tick_ms)} attempt {attempt} had {count} effects"
    unsafe = {each.occurrence.tick_ms for each in records.occurrences if each.effects == Effects.UNSAFE}
    for tick_ms, count in Counter(effect.tick_ms for effect in records.effects).items():
        attempted = sum(1 for each in attempts if each[0] == tick_ms)
        if tick_ms in unsafe and attempted > 1:
            yield f"{_named(records, tick_ms)} must not be repeated and had {count} effects"


def _false_successes(records: ScheduleRecords) -> Iterator[str]:
    acquired = _leases(records, "acquired")
    done = {(effect.tick_ms, effect.attempt, effect.fencing_token) for effect in records.effects}
    successes = [run for run in records.runs if run.event == "succeeded"]
    for tick_ms, count in Counter(run.tick_ms for run in successes).items():
        if count > 1:
            yield f"{_named(records, tick_ms)} succeeded {count} times"
    for run in successes:
        if run.reason in _RESOLVED:
            continue
        lease = (run.tick_ms, run.attempt, run.fencing_token)
        if lease not in acquired:
            yield f"{_named(records, run.tick_ms)} succeeded without a lease"
        if lease not in done:
            yield f"{_named(records, run.tick_ms)} succeeded without an effect"
    recorded = {run.tick_ms for run in successes}
    for each in records.occurrences:
        if each.state is OccurrenceState.SUCCEEDED and each.occurrence.tick_ms not in recorded:
            yield f"{each.occurrence} is a success that its history does not know"


def _unfounded(records: ScheduleRecords) -> Iterator[str]:
    for each in records.occurrences:
        for decision in each.decisions:
            if (again := decision.again().decision) != decision.decision:
                yield f"{each.occurrence} was decided {decision.decision}, and its evidence says {again.value}"


def _is_held(record: OccurrenceRecord) -> bool:
    return record.state is OccurrenceState.HELD


def _named(records: ScheduleRecords, tick_ms: int) -> str:
    return f"{records.schedule_id} {to_rfc3339(tick_ms)}"
