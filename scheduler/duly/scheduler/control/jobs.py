"""RQ jobs, as far as they concern a fleet: never what they are called with."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from duly.common.errors import InvalidField
from duly.common.identity import Occurrence, check_schedule_id, check_tick_ms
from duly.common.store import Store
from duly.common.store.connection import translated
from duly.common.store.keys import RQ_JOB_STEM
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON, Problem, Stopped
from duly.scheduler.control.schemas import Job

router = APIRouter(prefix=API, tags=["jobs"])

JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,200}$", description="RQ's id of the job.")]
_FIELDS = ("status", "origin", "created_at", "enqueued_at", "started_at", "ended_at", "meta")
_OURS = re.compile(r"duly-(?P<schedule_id>[a-z0-9][a-z0-9_-]{0,63})-(?P<tick_ms>\d{1,15})-(?P<attempt>\d{1,4})")


@router.get("/jobs/{job_id}", response_model=Job, responses=problems(404, 422), operation_id="show_job")
def job(store: Reading, job_id: JobId) -> Response:
    """A job. RQ forgets jobs some minutes after they end; those of an occurrence on record are still told apart."""
    fields = _fields(store, job_id)
    occurrence = _occurrence(job_id, fields.get("meta"))
    record = None if occurrence is None else store.attempts.find(occurrence)
    if record is None and "status" not in fields:
        raise Stopped(Problem(HTTPStatus.NOT_FOUND, "job_not_found", f"no job '{job_id}'"))
    where = None if occurrence is None else {"schedule_id": occurrence.schedule_id, "tick_ms": occurrence.tick_ms}
    kind = None if occurrence is None else ("scheduled" if record is None else record.kind)
    return JSON(
        {
            "job_id": job_id,
            "status": fields.get("status"),
            "queue": fields.get("origin") or (None if record is None else record.queue),
            **{name: fields.get(name) for name in _FIELDS if name.endswith("_at")},
            "kind": kind,
            "occurrence": where,
            "periodic_origin": where if kind == "scheduled" else None,
        }
    )


def _fields(store: Store, job_id: str) -> dict[str, str]:
    """What RQ keeps of the job and is text. Its metadata may be a pickle, which nobody here opens."""
    with translated():
        values = store.client.execute_command("HMGET", RQ_JOB_STEM + job_id, *_FIELDS, NEVER_DECODE=True)
    found = dict[str, str]()
    for name, value in zip(_FIELDS, values, strict=True):
        try:
            text = value.decode("utf-8") if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            continue
        if text:
            found[name] = text
    return found


def _occurrence(job_id: str, meta: str | None) -> Occurrence | None:
    """Whose tick the job carries: as its metadata says or, where RQ has forgotten it, as its id does."""
    if meta is not None:
        return _named(_object(meta))
    match = _OURS.fullmatch(job_id)
    return None if match is None else Occurrence(match["schedule_id"], int(match["tick_ms"]))


def _named(meta: dict[str, Any]) -> Occurrence | None:
    try:
        return Occurrence(
            check_schedule_id(meta.get("periodic_schedule_id")), check_tick_ms(meta.get("periodic_tick_ms"))
        )
    except InvalidField:
        return None


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
