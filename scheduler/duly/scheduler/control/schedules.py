"""Schedules: listed, written, replaced, changed and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header
from starlette.responses import Response

from duly.common.errors import InvalidField, RevisionConflict, ScheduleExists, ScheduleNotFound
from duly.common.explain import cursors
from duly.common.explain.edits import told_edit
from duly.common.records.schedule import ScheduleRecord
from duly.common.store import Store
from duly.common.store.schedules import Edit
from duly.scheduler.control.app import Changing, Reading
from duly.scheduler.control.conditions import Condition, etag, failed
from duly.scheduler.control.document import (
    ETAG,
    LOCATION,
    Cursor,
    Limit,
    ScheduleId,
    problems,
    replaced_body,
)
from duly.scheduler.control.editing import merges, patch, read_definition, replacement
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import EditedSchedule, Schedule, SchedulePage

router = APIRouter(prefix=f"{API}/periodic", tags=["schedules"])

Fields = Annotated[dict[str, Any], Body()]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", description='Only if the schedule is at this revision, such as "3".')
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="With * only if there is no such schedule yet.")
]
_TRIES = 3


@router.get("", response_model=SchedulePage, responses=problems(400, 422), operation_id="list_schedules")
def listed(store: Reading, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """All schedules, in order of their ids."""
    records, after = store.schedules.page(limit, cursors.SCHEDULES.decode(cursor) or "")
    return JSON({"schedules": [each.to_dict() for each in records], "next_cursor": cursors.SCHEDULES.encode(after)})


@router.post(
    "",
    status_code=201,
    response_model=Schedule,
    responses={201: {"headers": ETAG | LOCATION}, **problems(409, body=True)},
    openapi_extra=replaced_body("ScheduleDefinition"),
    operation_id="add_schedule",
)
def added(store: Changing, fields: Fields) -> Response:
    """Write a new schedule. Its first tick is the first after now."""
    return _created(store.schedules.add(read_definition(fields)))


@router.get(
    "/{schedule_id}",
    response_model=Schedule,
    responses={200: {"headers": ETAG}, **problems(404, 409, 422)},
    operation_id="show_schedule",
)
def shown(store: Reading, schedule_id: ScheduleId) -> Response:
    """One schedule."""
    return told(store.schedules.get(schedule_id))


@router.put(
    "/{schedule_id}",
    response_model=EditedSchedule,
    responses={
        200: {"headers": ETAG},
        201: {"model": Schedule, "headers": ETAG | LOCATION, "description": "Created"},
        **problems(409, 412, body=True),
    },
    openapi_extra=replaced_body("ScheduleFields"),
    operation_id="put_schedule",
)
def put(
    store: Changing,
    schedule_id: ScheduleId,
    fields: Fields,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Make the schedule what the body says: written anew, or replaced whole. Left out, a field has its default."""
    condition, unless = Condition.read(if_match), Condition.read(if_none_match)
    if fields.get("schedule_id", schedule_id) != schedule_id:
        raise InvalidField("schedule_id", "must be the one in the address, or left out")
    for _ in range(_TRIES):
        record = _find(store, schedule_id)
        if condition is not None:
            condition.check(None if record is None else record.revision)
        if unless is not None and record is not None and unless.meets(record.revision):
            raise failed()
        try:
            if record is None:
                return _created(store.schedules.add(read_definition({**fields, "schedule_id": schedule_id})))
            changes = replacement(record.definition, fields)
            return edited(_update(store, record, changes, condition, bound=condition is not None))
        except (ScheduleExists, ScheduleNotFound):
            continue  # it came or went between the two looks
    raise RevisionConflict(schedule_id)


@router.patch(
    "/{schedule_id}",
    response_model=EditedSchedule,
    responses={200: {"headers": ETAG}, **problems(404, 409, 412, body=True)},
    openapi_extra=replaced_body("ScheduleChanges", "application/merge-patch+json", "application/json"),
    operation_id="change_schedule",
)
def patched(store: Changing, schedule_id: ScheduleId, fields: Fields, if_match: IfMatch = None) -> Response:
    """Change the named fields (RFC 7396); null gives a field its default.

    Another `spec`, `start_at` or `end_at` starts again from the first tick after the edit; anything else keeps the
    next run.
    """
    condition = Condition.read(if_match)
    record = _matching(store, schedule_id, condition)
    if not fields:
        raise InvalidField("body", "must name a field to change")
    changes = patch(record.definition, fields)
    return edited(_update(store, record, changes, condition, bound=condition is not None or merges(fields)))


@router.delete(
    "/{schedule_id}",
    status_code=204,
    responses=problems(404, 409, 412, body=True),
    operation_id="delete_schedule",
)
def deleted(store: Changing, schedule_id: ScheduleId, if_match: IfMatch = None) -> Response:
    """Remove the schedule. Its audit trail, its runs and its occurrences stay readable."""
    with at_revision(store, schedule_id, if_match) as revision:
        store.schedules.delete(schedule_id, revision=revision)
    return Response(status_code=204)


@contextmanager
def at_revision(store: Store, schedule_id: str, if_match: str | None) -> Iterator[int | None]:
    """The revision that a change must be made to, None when it may be any; raises Stopped (412) where it is another."""
    condition = Condition.read(if_match)
    revision = None
    if condition is not None:
        revision, _ = store.schedules.seen(schedule_id)  # what cannot be used has a revision to be deleted at
        condition.check(revision)
    try:
        yield revision
    except RevisionConflict as conflict:
        raise (conflict if condition is None else failed()) from conflict


def told(record: ScheduleRecord, **more: Any) -> Response:
    """A schedule as a reply."""
    return JSON({**record.to_dict(), **more}, headers={"ETag": etag(record.revision)})


def edited(edit: Edit) -> Response:
    """A schedule and what an edit did to it, as a reply."""
    return JSON(told_edit(edit), headers={"ETag": etag(edit.record.revision)})


def _created(record: ScheduleRecord) -> Response:
    headers = {"ETag": etag(record.revision), "Location": f"{API}/periodic/{record.schedule_id}"}
    return JSON(record.to_dict(), 201, headers)


def _find(store: Store, schedule_id: str) -> ScheduleRecord | None:
    try:
        return store.schedules.get(schedule_id)
    except ScheduleNotFound:
        return None


def _matching(store: Store, schedule_id: str, condition: Condition | None) -> ScheduleRecord:
    """The schedule, which meets the condition; raises ScheduleNotFound, and Stopped (412)."""
    record = store.schedules.get(schedule_id)
    if condition is not None:
        condition.check(record.revision)
    return record


def _update(
    store: Store, record: ScheduleRecord, changes: dict[str, Any], condition: Condition | None, *, bound: bool
) -> Edit:
    """``bound``: the changes were made for this revision and no other."""
    try:
        return store.schedules.update(record.schedule_id, changes, revision=record.revision if bound else None)
    except RevisionConflict as conflict:
        raise (conflict if condition is None else failed()) from conflict
