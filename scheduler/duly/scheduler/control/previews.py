"""The next ticks of a schedule, or of an expression that nobody has saved."""

from __future__ import annotations

from itertools import islice
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query
from starlette.responses import Response

from duly.common.cli.schedule.preview import _after, _iso, _Tick
from duly.common.clock import wall_ms
from duly.common.expression import parse
from duly.common.instant import to_datetime, to_ms, to_rfc3339
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
    zone = ZoneInfo(timetable.expression.timezone)
    ticks = [_Tick(ms, to_datetime(ms).astimezone(zone)) for ms in islice(_after(timetable, after_ms), count)]
    return JSON(
        {
            "spec": timetable.expression.spec,
            "timezone": timetable.expression.timezone,
            "ticks": [{"tick_ms": each.ms, "utc": to_rfc3339(each.ms), "local": _iso(each)} for each in ticks],
        }
    )
