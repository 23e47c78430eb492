"""The RQ job that carries one attempt to a worker, as RQ itself would write it.

A job is a hint: it names an occurrence and nothing else, and the function it calls is always ours. What all jobs of a
queue have is taken from RQ's own `Job`, once for each queue, and fields that say nothing are left out; the scripts add
what differs (`lua/lib/delivery.lua`).
"""

from __future__ import annotations

from functools import lru_cache

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
    return ["created_at", moment, "enqueued_at", moment, *_template(queue)]


@lru_cache(maxsize=1024)
def _template(queue: str) -> tuple[Value, ...]:
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
    said = ((name, value) for name, value in job.to_dict().items() if name not in own and value != "")
    return tuple(part for item in said for part in item)
