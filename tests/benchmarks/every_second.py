"""``python -m tests.benchmarks.every_second URL``: `rq cron` with one schedule, due each second."""

from __future__ import annotations

import logging
import sys

import redis
from rq.cron import CronScheduler

from tests.benchmarks.work import work


def main(url: str) -> None:
    scheduler = CronScheduler(connection=redis.Redis.from_url(url), logging_level=logging.WARNING)
    scheduler.register(work, "default", cron="* * * * * *")
    scheduler.start()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(sys.argv[1])
