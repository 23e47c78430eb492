"""rq-scheduler: `Scheduler.enqueue_jobs` over schedules that are all due."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

from typing import Any

import redis
from rq_scheduler import Scheduler

from tests.benchmarks.peers import reporting

OVERDUE = 1_000_000


def work() -> None:
    """What is enqueued; never run."""


def main() -> None:
    url, size = reporting.asked()
    connection = redis.Redis.from_url(url)
    scheduler = Scheduler(connection=connection)
    for _ in range(size):
        scheduler.cron("0 * * * *", work, queue_name="default")
    ids: Any = connection.zrange(scheduler.scheduled_jobs_key, 0, -1)
    connection.zadd(scheduler.scheduled_jobs_key, dict.fromkeys(ids, OVERDUE))
    scheduler.register_birth()
    scheduler.acquire_lock()
    seconds = reporting.timed(scheduler.enqueue_jobs)
    reporting.report(int(connection.llen("rq:queue:default")), seconds)


if __name__ == "__main__":
    main()
