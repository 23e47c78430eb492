"""celery-redbeat: one tick of its scheduler, under its lock, over entries that are all due."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import redis
from celery import Celery
from celery.schedules import schedule
from redbeat import RedBeatSchedulerEntry
from redbeat.schedulers import RedBeatScheduler, acquire_distributed_beat_lock

from tests.benchmarks.peers import reporting


def main() -> None:
    logging.disable(logging.INFO)
    url, size = reporting.asked()
    app = Celery("bench", broker=url)
    app.conf.update(redbeat_redis_url=url, task_ignore_result=True)
    hourly, last_run_at = schedule(run_every=3600, app=app), datetime.now(UTC) - timedelta(hours=2)
    for number in range(size):
        entry = RedBeatSchedulerEntry(f"s{number}", "bench.task", hourly, app=app, last_run_at=last_run_at)
        entry.save()
    scheduler = RedBeatScheduler(app=app)
    acquire_distributed_beat_lock(SimpleNamespace(scheduler=scheduler))
    seconds = reporting.timed(scheduler.tick)
    reporting.report(int(redis.Redis.from_url(url).llen("celery")), seconds)


if __name__ == "__main__":
    main()
