"""The past of a schedule, also of a deleted one: enqueue events, runs, changes, and single occurrences explained."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from duly.common.cli import cursors, words
from duly.common.cli.absence import explain_absence, timeline_of
from duly.common.cli.occurrence import Judged, judged_of, released_by_whom
from duly.common.cli.trail import check_known
from duly.common.contract import decide
from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.store import Store
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
    inner = cursors.decode(cursor, cursors.STREAM)
    check_known(store, schedule_id)
    page, after = store.trails.events(schedule_id, limit, inner)
    return JSON({"events": [each.to_dict() for each in page], "next_cursor": cursors.encode(after)})


@router.get("/runs", response_model=RunPage, responses=problems(400, 404, 422), operation_id="list_runs")
def runs(store: Reading, schedule_id: ScheduleId, limit: Limit = 30, cursor: Cursor = None) -> Response:
    """Every transition of attempts, newest first."""
    inner = cursors.decode(cursor, cursors.STREAM)
    check_known(store, schedule_id)
    page, after = store.trails.runs(schedule_id, limit, inner)
    return JSON({"runs": [each.to_dict() for each in page], "next_cursor": cursors.encode(after)})


@router.get("/changes", response_model=ChangePage, responses=problems(400, 404, 422), operation_id="list_changes")
def changes(store: Reading, schedule_id: ScheduleId, limit: Limit = 30, cursor: Cursor = None) -> Response:
    """Who changed what of the schedule, newest first."""
    inner = cursors.decode(cursor, cursors.STREAM)
    check_known(store, schedule_id)
    page, after = store.trails.changes(schedule_id, limit, inner)
    return JSON({"changes": [each.to_dict() for each in page], "next_cursor": cursors.encode(after)})


@router.get(
    "/occurrences/{tick_ms}",
    response_model=Explanation,
    responses=problems(404, 409, 422),
    operation_id="explain_occurrence",
)
def occurrence(store: Reading, schedule_id: ScheduleId, tick_ms: TickMs) -> Response:
    """All that is known of one tick: why it ran, did not run, or waits. 404 where there was none and will be none."""
    asked = Occurrence(schedule_id, tick_ms)
    return JSON(explained(store, asked))


def explained(store: Store, asked: Occurrence) -> dict[str, Any]:
    """What `duly occurrence --json` prints."""
    record, timeline = store.attempts.find(asked), timeline_of(store, asked)
    told = [event.to_dict() for event in timeline]
    if record is not None:
        now_ms = store.schedules.now_ms()
        return {
            **record.to_dict(),
            "on_record": True,
            "explanation": words.state(record, now_ms),
            "released_by": released_by_whom(store, record, now_ms),
            **judged_of(store, record).to_dict(),
            "timeline": told,
        }
    absence = explain_absence(store, asked, timeline)
    judged = None if absence.case is None else Judged(absence.case, decide(absence.case), "")
    return {
        "schedule_id": asked.schedule_id,
        "tick_ms": asked.tick_ms,
        "tick_at": to_rfc3339(asked.tick_ms),
        "on_record": False,
        "explanation": absence.explanation,
        **(judged.to_dict() if judged else {"decision": None, "evidence": None, "observed": None}),
        "events": [event.to_dict() for event in absence.events],
        "timeline": told,
    }
