"""Huey: its scheduler's `enqueue_periodic_tasks` over tasks that are all due this minute."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import threading

from huey import RedisHuey, crontab
from huey.consumer import Scheduler

from tests.benchmarks.peers import reporting


def work() -> None:
    """What is enqueued; never run."""


def main() -> None:
    url, size = reporting.asked()
    huey = RedisHuey("bench", url=url)
    for number in range(size):
        huey.periodic_task(crontab(minute="*"), name=f"s{number}")(work)
    scheduler = Scheduler(huey, threading.Event(), 1, True)
    seconds = reporting.timed(lambda: scheduler.enqueue_periodic_tasks(None))
    reporting.report(huey.pending_count(), seconds)


if __name__ == "__main__":
    main()
