"""The RQ job that carries one attempt to a worker, as RQ itself would write it.

A job is a hint: it names an occurrence and nothing else, and the function it calls is always ours. Its hash is
built by RQ's own `Job`, once for each queue; only what differs from job to job is filled in here.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import NamedTuple

import redis
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from rq.utils import utcformat

from duly.common.identity import Occurrence, job_id
from duly.common.instant import to_datetime
from duly.common.store.scripts import Value

ATTEMPT_FUNCTION = "duly.worker.entry.attempt_occurrence"
# RQ's own death penalty is off: the attempt keeps its time-out itself, and SIGALRM belongs to the lease.
NO_RQ_TIMEOUT = -1
RESULT_TTL_S = 500
FAILURE_TTL_S = 86_400
_UNCONNECTED = redis.Redis()


def shared_fields(queue: str, now_ms: int) -> list[Value]:
    """The part of the job hash that is the same for every job of one queue at one instant, as a flat list."""
    moment = utcformat(to_datetime(now_ms))
    fields: list[Value] = ["created_at", moment, "enqueued_at", moment]
    for name, value in _template(queue).items():
        fields += (name, value)
    return fields


class OwnFields(NamedTuple):
    """The part of the job hash that belongs to one attempt alone."""

    data: bytes
    meta: str
    description: str


def own_fields(occurrence: Occurrence, attempt: int) -> OwnFields:
    """What the job of this attempt has for itself: whom it calls, whose tick it is, and a line for people."""
    call: list[object] = [ATTEMPT_FUNCTION, None, [occurrence.schedule_id, occurrence.tick_ms, attempt], {}]
    meta = {"periodic_schedule_id": occurrence.schedule_id, "periodic_tick_ms": occurrence.tick_ms}
    return OwnFields(zlib.compress(json.dumps(call).encode()), json.dumps(meta), f"{occurrence} attempt {attempt}")


@lru_cache(maxsize=1024)
def _template(queue: str) -> dict[str, Value]:
    job = Job.create(
        ATTEMPT_FUNCTION,
        connection=_UNCONNECTED,
        serializer=JSONSerializer,
        origin=queue,
        id=job_id(Occurrence("template", 0), 1),
        timeout=NO_RQ_TIMEOUT,
        result_ttl=RESULT_TTL_S,
        failure_ttl=FAILURE_TTL_S,
        status=JobStatus.QUEUED,
    )
    own = {"data", "meta", "description", "created_at", "enqueued_at"}
    return {name: value for name, value in job.to_dict().items() if name not in own}
