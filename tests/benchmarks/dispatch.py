"""How many due schedules a second become jobs: one duty holder against `rq cron` and against the server's limit.

The limit is one server that takes ready-made batches of 500 ticks in a script call, each with what any durable
scheduler must write: a job hash of 12 fields, the queue's entry, the queue's name, an event in a capped stream,
and the schedule's next instant.
"""

from __future__ import annotations

import logging
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import redis
from rq.cron import CronScheduler

from duly.common.records.definition import define
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.sweep import Sweeper
from tests import servers
from tests.benchmarks.measuring import Comparison, Contestant, compare

BATCH = 500
LIMIT_SCRIPT = """
local at = 1
for _ = 1, tonumber(ARGV[1]) do
  local job = 'rq:job:' .. ARGV[at + 1]
  redis.call('HSET', job, unpack(ARGV, at + 2, at + 25))
  redis.call('RPUSH', 'rq:queue:default', ARGV[at + 1])
  redis.call('SADD', 'rq:queues', 'rq:queue:default')
  redis.call('XADD', 'events', 'MAXLEN', 100, '*', 'job', ARGV[at + 1])
  redis.call('ZADD', 'due', ARGV[at + 26], ARGV[at + 1])
  at = at + 26
end
"""


def work() -> None:
    """What `rq cron` enqueues; never run."""


def compare_on(url: str, rounds: int, size: int) -> Comparison:
    client = redis.Redis.from_url(url)
    return compare(
        f"Dispatch of {size:,} due schedules",
        "ticks/s",
        "rq cron",
        [_limit(client, size), _duly(url, size), _rq_cron(client, size)],
        rounds,
    )


def measure(rounds: int, size: int) -> Comparison:
    """On a Valkey of its own, without persistence, so that the disk has no say."""
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder, servers.running(servers.valkey_binary(), Path(folder)) as port:
        return compare_on(f"redis://127.0.0.1:{port}/0", rounds, size)


def _duly(url: str, size: int) -> Contestant:
    store = Store.connect(Settings(redis_url=url))
    sweeper = Sweeper(store)

    def prepare() -> None:
        store.client.flushdb()
        store.sweeping.claim_duty("bench", "bench", 600_000)
        for n in range(size):
            store.schedules.add(
                define(
                    {
                        "schedule_id": f"s{n}",
                        "spec": "@every:3600000",
                        "task": "bench.task",
                        "missed_run_policy": "run_once",
                        "review_owner": "bench",
                    }
                )
            )
        _make_due(store)

    def run() -> int:
        ticks = 0
        while True:
            done = sweeper.sweep_once("bench")
            assert done is not None
            ticks += done.ticks
            if not done.more:
                assert ticks == size, f"{ticks} of {size} dispatched"
                return ticks

    return Contestant("duly", prepare, run)


def _make_due(store: Store) -> None:
    """One period back for every schedule: as after an hour in which nobody swept."""
    with store.client.pipeline(transaction=False) as pipe:
        for schedule_id, due in store.client.zrange(store.keys.due, 0, -1, withscores=True):
            earlier = int(due) - 3_600_000
            pipe.hset(store.keys.schedule(schedule_id), "next_run_ms", earlier)
            pipe.zadd(store.keys.due, {schedule_id: earlier})
        pipe.execute()


def _rq_cron(client: redis.Redis, size: int) -> Contestant:
    scheduler: Any = None

    def prepare() -> None:
        nonlocal scheduler
        client.flushdb()
        scheduler = CronScheduler(connection=client, logging_level=logging.WARNING)
        for _ in range(size):
            job = scheduler.register(work, "default", cron="0 * * * *")
            job.next_enqueue_time = datetime.fromtimestamp(0, UTC)

    def run() -> int:
        return len(scheduler.enqueue_jobs())

    return Contestant("rq cron", prepare, run)


def _limit(client: redis.Redis, size: int) -> Contestant:
    script = client.register_script(LIMIT_SCRIPT)
    batches: list[list[Any]] = []
    fields = [part for n in range(12) for part in (f"field{n}", "a value of a usual length")]
    for first in range(0, size, BATCH):
        ticks = range(first, min(first + BATCH, size))
        batches.append([len(ticks), *(part for n in ticks for part in (f"duly-s{n}-1767225600000-1", *fields, n))])

    def run() -> int:
        for batch in batches:
            script(args=batch)
        return size

    return Contestant("one server's limit", client.flushdb, run)
