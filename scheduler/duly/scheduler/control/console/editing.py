"""An edit of a schedule: what it would do to its fields and ticks is shown before it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from duly.common.errors import DulyError, RevisionConflict, StoreUnavailable
from duly.common.explain.ticks import Tick, next_ticks
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.schedule import ScheduleRecord
from duly.common.store import Store
from duly.common.store.schedules import Edit
from duly.scheduler.control.console import drafts
from duly.scheduler.control.console.clock_changes import ClockChange, clock_changes
from duly.scheduler.control.console.failing import Failure, describe
from duly.scheduler.control.console.forms import Fields, form_reader, number
from duly.scheduler.control.console.once import new_key
from duly.scheduler.control.console.site import Site, see
from duly.scheduler.control.console.suggesting import known_tasks

COMPARED = 10


@dataclass(frozen=True, slots=True)
class TickChange:
    """One tick in the comparison: ``kept``, ``added`` or ``removed``."""

    tick: Tick
    change: str


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What an edit would do."""

    edit: Edit
    fields: Sequence[tuple[str, str, str]]
    """Name, before and after."""
    before: Sequence[TickChange]
    after: Sequence[TickChange]
    clock_changes: Sequence[ClockChange]


def register(router: APIRouter, site: Site) -> None:
    sent = Depends(form_reader(site))

    def edit(request: Request, schedule_id: str) -> Response:
        record = site.store_of(request).schedules.get(schedule_id)
        return _form(site, request, record, drafts.shown(record.definition))

    def change(request: Request, schedule_id: str, fields: Fields = sent) -> Response:
        store = site.store_of(request)
        path = request.url.path

        def write() -> str:
            revision = number(fields, "revision")
            record = _seen(store, schedule_id, revision)
            changed = _changes(record, fields)
            if not changed:
                return f"/schedules/{schedule_id}?done=unchanged"
            store.schedules.update(schedule_id, changed, revision=revision)
            return f"/schedules/{schedule_id}?done=updated"

        try:
            if "save" in fields:
                return see(site.done.do(path, fields, write))
            record = _seen(store, schedule_id, number(fields, "revision"))
            form = drafts.filled(fields, drafts.shown(record.definition))
            return _form(
                site, request, record, form, restated="restated" in fields, foreseen=foresee(store, record, fields)
            )
        except StoreUnavailable:
            raise
        except DulyError as error:
            # The form keeps the revision that its reader saw: what somebody else changed is not overwritten unseen.
            record = store.schedules.get(schedule_id)
            form = drafts.filled(fields, drafts.shown(record.definition))
            return _form(site, request, record, form, restated="restated" in fields, failure=describe(error))

    router.get("/schedules/{schedule_id}/edit")(edit)
    router.post("/schedules/{schedule_id}/edit")(change)


def foresee(store: Store, record: ScheduleRecord, fields: Fields) -> Foreseen:
    """What the edit would do; raises InvalidField."""
    edit = store.schedules.preview_update(record.schedule_id, _changes(record, fields))
    after = edit.record.definition
    now_ms = store.schedules.now_ms()
    return Foreseen(
        edit,
        _changed(record.definition, after),
        *_compared(record.definition, after, now_ms),
        clock_changes(after.timetable, now_ms),
    )


def _changes(record: ScheduleRecord, fields: Fields) -> dict[str, Any]:
    form = drafts.filled(fields, drafts.shown(record.definition))
    return drafts.changes(form, record.definition, restated="restated" in fields)


def _seen(store: Store, schedule_id: str, revision: int) -> ScheduleRecord:
    record = store.schedules.get(schedule_id)
    if record.revision != revision:
        raise RevisionConflict(schedule_id)
    return record


def _changed(old: ScheduleDefinition, new: ScheduleDefinition) -> list[tuple[str, str, str]]:
    before, after = drafts.shown(old), drafts.shown(new)
    return [(name, before[name], after[name]) for name in before if before[name] != after[name]]


def _compared(
    old: ScheduleDefinition, new: ScheduleDefinition, now_ms: int
) -> tuple[list[TickChange], list[TickChange]]:
    """The next ticks of each; what the other does not have is ``removed`` or ``added``."""
    before = next_ticks(old.timetable, now_ms, COMPARED)
    after = next_ticks(new.timetable, now_ms, COMPARED)
    return (
        [TickChange(tick, "kept" if new.timetable.is_tick(tick.ms) else "removed") for tick in before],
        [TickChange(tick, "kept" if old.timetable.is_tick(tick.ms) else "added") for tick in after],
    )


def _form(
    site: Site,
    request: Request,
    record: ScheduleRecord,
    form: Mapping[str, Any],
    *,
    restated: bool = False,
    foreseen: Foreseen | None = None,
    failure: Failure | None = None,
) -> Response:
    return site.page(
        request,
        "edit.html",
        status=200 if failure is None else failure.status,
        record=record,
        form=form,
        tasks=known_tasks(site.store),
        restated=restated,
        foreseen=foreseen,
        failure=failure,
        key=new_key(),
    )
