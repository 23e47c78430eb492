"""How many due schedules a second become jobs: one duty holder against its peers and against the server's limit.

The limit is one server that takes ready-made batches of 500 ticks in a script call, each with what any durable
scheduler must write: a job hash of 12 fields, the queue's entry, the queue's name, an event in a capped stream,
and the schedule's next instant. Every peer does it in its own way, with what that way keeps on record in the notes.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import redis
from rq.cron import CronScheduler

from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.sweep import Sweeper
from tests.benchmarks import peer_environment, processes
from tests.benchmarks.bulk import add_all, hourly, make_due
from tests.benchmarks.measuring import Comparison, Contestant, Measurable, compare
from tests.benchmarks.work import work

BATCH = 500
PEER_SIZE = 2_000
"""Due schedules of a peer at most: its ticks per second are the same with more, and some do a few hundred a second."""
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


def measure(rounds: int, size: int) -> Comparison:
    """On a server of its own; with ``size`` due schedules and with a tenth of them."""
    logging.disable(logging.INFO)
    with processes.server() as url:
        return compare_on(url, rounds, size, peer_environment.contestants(url, min(size, PEER_SIZE)))


def compare_on(url: str, rounds: int, size: int, peers: Sequence[Measurable]) -> Comparison:
    client = redis.Redis.from_url(url, socket_timeout=60)
    tenth = max(size // 10, 1)
    limit, rq_cron = _limit(client, size), _rq_cron(client, tenth)
    small, large = duly(url, tenth), duly(url, size)
    made = compare(
        "Due schedules that become jobs", "ticks/s", limit.name, [limit, small, large, rq_cron, *peers], rounds
    )
    made.also = [rq_cron.name]
    for each in (small, large):
        made.want(f"{each.name} / limit", made.ratio(each.name), "0.30", "0.50")
        made.want(f"{each.name} / rq cron", made.ratio(each.name, rq_cron.name), "15")
    made.notes += [
        "duly: keeps each occurrence with its evidence, an audit event, two lines of history; definitions are known",
        "rq cron: keeps its schedules in memory; no lock, no record of a tick besides its job",
        *(f"{peer.name}: {peer.keeps}" for peer in peer_environment.PEERS if peers),
        *([peer_environment.LEFT_OUT] if peers else []),
    ]
    return made


def duly(url: str, size: int) -> Contestant:
    """One duty holder with ``size`` due schedules. Forgets everything on the server in each round."""
    store = Store.connect(Settings(redis_url=url, queue_limit=max(size, Settings().queue_limit)))
    sweeper = Sweeper(store)
    definitions = list(hourly(size))

    def prepare() -> None:
        store.client.flushall()
        store.sweeping.claim_duty("bench", "bench", processes.LONG_MS)
        add_all(store, definitions)
        make_due(store)

    def run() -> int:
        ticks = 0
        while True:
            done = sweeper.sweep_once("bench")
            assert done is not None
            ticks += done.ticks
            if not done.more:
                assert ticks == size, f"{ticks} of {size} dispatched"
                return ticks

    return Contestant(f"duly, {size:,} due", prepare, run)


def _rq_cron(client: redis.Redis, size: int) -> Contestant:
    scheduler: Any = None

    def prepare() -> None:
        nonlocal scheduler
        client.flushall()
        scheduler = CronScheduler(connection=client, logging_level=logging.WARNING)
        for _ in range(size):
            job = scheduler.register(work, "default", cron="0 * * * *")
            job.next_enqueue_time = datetime.fromtimestamp(0, UTC)

    def run() -> int:
        return len(scheduler.enqueue_jobs())

    return Contestant(f"rq cron, {size:,} due", prepare, run)


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

    return Contestant("limit of one server", client.flushall, run)
