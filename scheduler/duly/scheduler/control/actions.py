"""What is done to a schedule besides editing it: paused, resumed, released, run now."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header
from starlette.responses import Response

from duly.common.identity import canonical_json
from duly.common.instant import to_ms
from duly.common.store.manual import MAX_KEY_LENGTH
from duly.scheduler.control.app import Changing
from duly.scheduler.control.document import ETAG, LOCATION, ScheduleId, problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schedules import IfMatch, at_revision, edited, told
from duly.scheduler.control.schemas import CatchUp, EditedSchedule, Pausing, ReleasedSchedule, RunAccepted, Schedule

router = APIRouter(prefix=f"{API}/periodic/{{schedule_id}}", tags=["actions"])

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_LENGTH,
        description="The same key with the same body is the same run, until a day after the run ended.",
    ),
]
RunBody = Annotated[
    dict[str, Any] | None,
    Body(description="Anything that the key stands for. It is compared, not kept, and changes nothing about the run."),
]


@router.post(
    "/pause",
    response_model=Schedule,
    responses={200: {"headers": ETAG}, **problems(404, 409, 412, body=True)},
    operation_id="pause_schedule",
)
def pause(store: Changing, schedule_id: ScheduleId, body: Pausing, if_match: IfMatch = None) -> Response:
    """Stop the ticks of a schedule from being due, with a note, until it is resumed or until an instant."""
    until_ms = None if body.until is None else to_ms(body.until, "until")
    with at_revision(store, schedule_id, if_match) as revision:
        return told(store.schedules.pause(schedule_id, body.note, until_ms, revision=revision))


@router.post(
    "/resume",
    response_model=EditedSchedule,
    responses={200: {"headers": ETAG}, **problems(404, 409, 412, body=True)},
    operation_id="resume_schedule",
)
def resume(store: Changing, schedule_id: ScheduleId, body: CatchUp | None = None, if_match: IfMatch = None) -> Response:
    """End a pause. The ticks passed over go on record."""
    with at_revision(store, schedule_id, if_match) as revision:
        return edited(store.schedules.resume(schedule_id, (body or CatchUp()).catch_up, revision=revision))


@router.post(
    "/release",
    response_model=ReleasedSchedule,
    responses={200: {"headers": ETAG}, **problems(404, 409, 412, 423, body=True)},
    operation_id="release_schedule",
)
def release(
    store: Changing, schedule_id: ScheduleId, body: CatchUp | None = None, if_match: IfMatch = None
) -> Response:
    """After a quarantine: also run the latest tick that the holds kept from running, or wait for the next.

    A quarantine ends by itself with its last hold; while one is open this is refused.
    """
    with at_revision(store, schedule_id, if_match) as revision:
        tick_ms = store.schedules.release(schedule_id, (body or CatchUp()).catch_up, revision=revision)
        return told(store.schedules.get(schedule_id), catch_up_tick_ms=tick_ms)


@router.post(
    "/run",
    status_code=202,
    response_model=RunAccepted,
    responses={202: {"headers": LOCATION}, **problems(404, 409, 423, 429, body=True)},
    operation_id="run_schedule",
)
def run(store: Changing, schedule_id: ScheduleId, idempotency_key: IdempotencyKey, body: RunBody = None) -> Response:
    """Enqueue one extra run now. The next run stays as it is; a hold, a pause or a full queue is never passed by."""
    made = store.manual.run(schedule_id, idempotency_key, canonical_json(body) if body else "")
    where = f"{API}/periodic/{schedule_id}/occurrences/{made.occurrence.tick_ms}"
    told = {"schedule_id": schedule_id, "tick_ms": made.occurrence.tick_ms, "job_id": made.job_id}
    return JSON({**told, "replayed": made.replayed}, 202, {"Location": where})
