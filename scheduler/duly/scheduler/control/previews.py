"""The next ticks of a schedule, or of an expression that nobody has saved."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from duly.common.clock import wall_ms
from duly.common.explain.ticks import next_ticks, preview
from duly.common.expression import parse
from duly.common.instant import to_ms
from duly.common.timetable import Timetable
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import ScheduleId, problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Preview, PreviewRequest

router = APIRouter(prefix=API, tags=["preview"])

Count = Annotated[int, Query(ge=1, le=1_000, description="Ticks at most.")]
After = Annotated[str | None, Query(max_length=100, description="Ticks after this instant, RFC 3339; else after now.")]


@router.get(
    "/periodic/{schedule_id}/preview",
    response_model=Preview,
    responses=problems(404, 409, 422),
    operation_id="preview_schedule",
)
def of_schedule(store: Reading, schedule_id: ScheduleId, count: Count = 10, after: After = None) -> Response:
    """The next ticks of a schedule, inside its bounds."""
    after_ms = None if after is None else to_ms(after, "after")
    timetable = store.schedules.get(schedule_id).definition.timetable
    return _ticks(timetable, store.schedules.now_ms() if after_ms is None else after_ms, count)


@router.post("/preview", response_model=Preview, responses=problems(body=True), operation_id="preview_spec")
def of_spec(body: PreviewRequest) -> Response:
    """The next ticks of an expression. It changes nothing and needs no Redis: now is this machine's."""
    after_ms = wall_ms() if body.after is None else to_ms(body.after, "after")
    return _ticks(Timetable(schedule_id="preview", expression=parse(body.spec)), after_ms, body.count)


def _ticks(timetable: Timetable, after_ms: int, count: int) -> Response:
    return JSON(preview(timetable, next_ticks(timetable, after_ms, count)))
