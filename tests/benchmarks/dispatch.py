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

from duly.common.store import Store
from duly.scheduler.sweep import Sweeper
from tests.benchmarks import peer_environment, processes
from tests.benchmarks.bulk import add_all, copy_all, daily, make_due
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
    tenth = max(size // 10, 1)
    limit, rq_cron = _limit(url, size), _rq_cron(url, tenth)
    small, large = duly(url, tenth, kept_in=1), duly(url, size, kept_in=2)
    made = compare(
        "Schedules that are due at once, and become jobs",
        "ticks/s",
        limit.name,
        [limit, small, large, rq_cron, *peers],
        rounds,
        also=[rq_cron.name],
    )
    for each in (small, large):
        made.want(f"{each.name} / limit", made.ratio(each.name), "0.30", "0.50")
        made.want(f"{each.name} / rq cron", made.ratio(each.name, rq_cron.name), "15")
    made.notes += [
        "duly: keeps each occurrence with its evidence, an audit event, history; has met its definitions before",
        "rq cron: keeps its schedules in memory; no lock, no record of a tick besides its job",
        *(f"{peer.name}: {peer.keeps}" for peer in peer_environment.PEERS if peers),
        *([peer_environment.LEFT_OUT] if peers else []),
    ]
    return made


def duly(url: str, size: int, kept_in: int) -> Contestant:
    """One duty holder with ``size`` due schedules, whose definitions it knows: they were all due once before.

    They are written once, and then copied from another database.
    """
    store = Store.connect(processes.undisturbed(url, size))
    sweeper = Sweeper(store)
    kept = False

    def prepare() -> None:
        nonlocal kept
        processes.empty(url)
        if not kept:
            store.sweeping.claim_duty("bench", "bench", processes.LONG_MS)
            add_all(store, daily(size))
            make_due(store)
            copy_all(url, 0, kept_in)
            kept = run() == size
            processes.empty(url)
        copy_all(url, kept_in, 0)

    def run() -> int:
        ticks = 0
        while True:
            done = sweeper.sweep_once("bench")
            assert done is not None
            ticks += done.ticks
            if not done.more:
                assert ticks == size, f"{ticks} of {size} dispatched"
                return ticks

    return Contestant(f"duly, {size:,}", prepare, run)


def _rq_cron(url: str, size: int) -> Contestant:
    client = redis.Redis.from_url(url)
    scheduler: Any = None

    def prepare() -> None:
        nonlocal scheduler
        processes.empty(url)
        scheduler = CronScheduler(connection=client, logging_level=logging.WARNING)
        for _ in range(size):
            job = scheduler.register(work, "default", cron="0 * * * *")
            job.next_enqueue_time = datetime.fromtimestamp(0, UTC)

    def run() -> int:
        return len(scheduler.enqueue_jobs())

    return Contestant(f"rq cron, {size:,}", prepare, run)


def _limit(url: str, size: int) -> Contestant:
    """The server's part alone: what a client of any kind spends on a batch was spent before the run."""
    client = redis.Redis.from_url(url)
    connection = client.connection_pool.get_connection()
    script = client.script_load(LIMIT_SCRIPT)
    fields = [part for n in range(12) for part in (f"field{n}", "a value of a usual length")]
    batches: list[bytes] = []
    for first in range(0, size, BATCH):
        ticks = range(first, min(first + BATCH, size))
        values = (part for n in ticks for part in (f"duly-s{n}-1767225600000-1", *fields, n))
        batches.append(b"".join(connection.pack_command("EVALSHA", script, 0, len(ticks), *values)))

    def run() -> int:
        for batch in batches:
            connection.send_packed_command([batch])
            connection.read_response()
        return size

    return Contestant("limit", lambda: processes.empty(url), run)
