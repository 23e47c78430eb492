"""SAQ: a worker's `schedule` over cron jobs that are all due: it schedules each anew and queues what is due."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import asyncio
import time
from typing import Any

from saq import CronJob, Queue, Worker

from tests.benchmarks.peers import reporting


def task(number: int) -> Any:
    """What is enqueued; never run. SAQ tells cron jobs apart by their functions' names."""

    async def work(_: Any) -> None: ...

    work.__name__ = work.__qualname__ = f"s{number}"
    return work


async def measure(url: str, size: int) -> None:
    queue: Any = Queue.from_url(url)
    await queue.connect()
    jobs = [CronJob(task(number), cron="0 * * * *") for number in range(size)]
    worker = Worker(queue, functions=[], cron_jobs=jobs)
    await worker.schedule()
    incomplete = queue.namespace("incomplete")
    ids = await queue.redis.zrange(incomplete, 0, -1)
    await queue.redis.zadd(incomplete, dict.fromkeys(ids, 1))
    await queue.redis.delete(queue.namespace("schedule"))
    started = time.perf_counter()
    await worker.schedule()
    reporting.report(await queue.count("queued"), time.perf_counter() - started)
    await queue.disconnect()


if __name__ == "__main__":
    asyncio.run(measure(*reporting.asked()))
