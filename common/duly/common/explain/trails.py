"""The past of a schedule, also of one that was deleted, in pages of records, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from duly.common.errors import ScheduleNotFound
from duly.common.explain import cursors
from duly.common.explain.cursors import Cursors
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.records.schedule import ScheduleRecord
from duly.common.records.trail import ChangeEvent, EnqueueEvent, RunEvent
from duly.common.store import Store
from duly.common.store.schedule_reader import UnusableSchedule

_LONGEST_HISTORY = 100
_Record = TypeVar("_Record", EnqueueEvent, RunEvent, ChangeEvent)
_Id = TypeVar("_Id", str, str | None)


@dataclass(frozen=True, slots=True)
class Page(Generic[_Record]):
    """Records and what they are called; ``next_cursor`` is opaque, and None on the last page."""

    name: str
    records: Sequence[_Record]
    next_cursor: str | None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` and the API print it."""
        return {self.name: [each.to_dict() for each in self.records], "next_cursor": self.next_cursor}


def events(store: Store, schedule_id: str, limit: int, cursor: str | None) -> Page[EnqueueEvent]:
    """What became of each tick; raises ScheduleNotFound, and InvalidField for a cursor of no such page."""
    return _page("events", cursors.EVENTS, store, store.trails.events, schedule_id, limit, cursor)


def runs(store: Store, schedule_id: str | None, limit: int, cursor: str | None) -> Page[RunEvent]:
    """Every transition of attempts, of the whole fleet where no schedule is named; raises as `events` does."""
    return _page("runs", cursors.RUNS, store, store.trails.runs, schedule_id, limit, cursor)


def changes(store: Store, schedule_id: str, limit: int, cursor: str | None) -> Page[ChangeEvent]:
    """Who changed what; raises as `events` does."""
    return _page("changes", cursors.CHANGES, store, store.trails.changes, schedule_id, limit, cursor)


def timeline_of(store: Store, occurrence: Occurrence) -> list[RunEvent]:
    """All transitions of the occurrence that history still holds, oldest first."""
    found, cursor = list[RunEvent](), None
    for _ in range(_LONGEST_HISTORY):
        page, cursor = store.trails.runs(occurrence.schedule_id, 100, cursor)
        found += [event for event in page if event.tick_ms == occurrence.tick_ms]
        if cursor is None:
            break
    return found[::-1]


def find_schedule(store: Store, schedule_id: str) -> tuple[ScheduleRecord | None, UnusableSchedule | None]:
    """The schedule, or why it cannot be used; neither where only its past is left.

    Raises ScheduleNotFound where there is no past either.
    """
    try:
        return store.schedules.get(schedule_id), None
    except UnusableSchedule as unusable:
        return None, unusable
    except ScheduleNotFound:
        if store.trails.has_trail(schedule_id):
            return None, None
        raise


def _page(
    name: str,
    kind: Cursors,
    store: Store,
    read: Callable[[_Id, int, str | None], tuple[list[_Record], str | None]],
    schedule_id: _Id,
    limit: int,
    cursor: str | None,
) -> Page[_Record]:
    inner = kind.decode(cursor)
    if schedule_id is not None:
        _check_known(store, schedule_id)
    records, after = read(schedule_id, limit, inner)
    return Page(name, records, kind.encode(after))


def _check_known(store: Store, schedule_id: str) -> None:
    check_schedule_id(schedule_id)
    if not store.schedules.exists(schedule_id) and not store.trails.has_trail(schedule_id):
        raise ScheduleNotFound(schedule_id)
