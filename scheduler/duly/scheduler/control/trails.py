"""The past of a schedule, also of a deleted one: enqueue events, runs, changes, and single occurrences explained."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from duly.common.explain import trails
from duly.common.explain.occurrence import explain_occurrence
from duly.common.identity import Occurrence
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import Cursor, Limit, ScheduleId, TickMs, problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import ChangePage, EventPage, Explanation, RunPage

router = APIRouter(prefix=f"{API}/periodic/{{schedule_id}}", tags=["trails"])


@router.get(
    "/enqueue-events", response_model=EventPage, responses=problems(400, 404, 422), operation_id="list_enqueue_events"
)
def events(store: Reading, schedule_id: ScheduleId, limit: Limit = 30, cursor: Cursor = None) -> Response:
    """What became of each tick, newest first."""
    return JSON(trails.events(store, schedule_id, limit, cursor).to_dict())


@router.get("/runs", response_model=RunPage, responses=problems(400, 404, 422), operation_id="list_runs")
def runs(store: Reading, schedule_id: ScheduleId, limit: Limit = 30, cursor: Cursor = None) -> Response:
    """Every transition of attempts, newest first."""
    return JSON(trails.runs(store, schedule_id, limit, cursor).to_dict())


@router.get("/changes", response_model=ChangePage, responses=problems(400, 404, 422), operation_id="list_changes")
def changes(store: Reading, schedule_id: ScheduleId, limit: Limit = 30, cursor: Cursor = None) -> Response:
    """Who changed what of the schedule, newest first."""
    return JSON(trails.changes(store, schedule_id, limit, cursor).to_dict())


@router.get(
    "/occurrences/{tick_ms}",
    response_model=Explanation,
    responses=problems(404, 409, 422),
    operation_id="explain_occurrence",
)
def occurrence(store: Reading, schedule_id: ScheduleId, tick_ms: TickMs) -> Response:
    """All that is known of one tick: why it ran, did not run, or waits. 404 where there was none and will be none."""
    return JSON(explain_occurrence(store, Occurrence(schedule_id, tick_ms)).to_dict())
