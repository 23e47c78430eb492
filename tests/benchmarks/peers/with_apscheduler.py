"""APScheduler 3: its own loop over a Redis job store in which all jobs are due, from `resume` to the last run."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.debug import DebugExecutor
from apscheduler.jobstores.redis import RedisJobStore
from apscheduler.schedulers.background import BackgroundScheduler

from tests.benchmarks.peers import reporting

LONGEST_S = 240.0


def work() -> None:
    """What is run, on the spot: there is no queue."""


def main() -> None:
    url, size = reporting.asked()
    scheduler = BackgroundScheduler(
        jobstores={"default": RedisJobStore(**reporting.address(url))},
        executors={"default": DebugExecutor()},
        job_defaults={"misfire_grace_time": None, "coalesce": True},
        timezone=UTC,
    )
    scheduler.start(paused=True)
    due = datetime.now(UTC) - timedelta(minutes=5)
    for number in range(size):
        function = "tests.benchmarks.peers.with_apscheduler:work"
        scheduler.add_job(function, "interval", hours=1, id=f"s{number}", next_run_time=due)
    ran, all_ran = 0, threading.Event()

    def count(_: object) -> None:
        nonlocal ran
        ran += 1
        if ran >= size:
            all_ran.set()

    scheduler.add_listener(count, EVENT_JOB_EXECUTED)

    def run() -> None:
        scheduler.resume()
        all_ran.wait(LONGEST_S)
        scheduler.pause()
        scheduler.shutdown()  # waits for the last job to be written back

    seconds = reporting.timed(run)
    reporting.report(ran, seconds)


if __name__ == "__main__":
    main()
