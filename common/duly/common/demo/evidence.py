"""Reads what the fleet recorded, for the tally: nothing here remembers what the demo did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from duly.common.demo.journal import Journal
from duly.common.demo.tally import ScheduleRecords
from duly.common.identity import Occurrence
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store

AUDIT_CAP = 100
_Record = TypeVar("_Record", EnqueueEvent, RunEvent)


def read_records(store: Store, journals: Path, schedule_id: str) -> ScheduleRecords:
    """Everything recorded of one schedule: audit trail, run history, occurrences, and its effect log."""
    schedule = store.schedules.get(schedule_id)
    events = read_events(store, schedule_id)
    runs = read_runs(store, schedule_id)
    ticks = sorted({run.tick_ms for run in runs} | {e.tick_ms for e in events if e.outcome == "enqueued"})
    found = [store.attempts.find(Occurrence(schedule_id, tick_ms)) for tick_ms in ticks]
    return ScheduleRecords(
        timetable=schedule.definition.timetable,
        created_ms=schedule.created_ms,
        stands_at_ms=schedule.next_run_ms or 0,
        events=events,
        runs=runs,
        occurrences=[record for record in found if record is not None],
        effects=Journal(journals / f"{schedule_id}.jsonl").read(),
        complete=len(events) < AUDIT_CAP and len(runs) < store.settings.schedule_history,
    )


def read_events(store: Store, schedule_id: str) -> list[EnqueueEvent]:
    """All enqueue events of a schedule, oldest first."""
    return _all(lambda cursor: store.trails.events(schedule_id, 100, cursor))


def read_runs(store: Store, schedule_id: str | None = None) -> list[RunEvent]:
    """The whole run history of a schedule, or of the fleet, oldest first."""
    return _all(lambda cursor: store.trails.runs(schedule_id, 500, cursor))


def _all(page: Callable[[str | None], tuple[list[_Record], str | None]]) -> list[_Record]:
    found, cursor = page(None)
    while cursor is not None:
        more, cursor = page(cursor)
        found += more
    return found[::-1]
