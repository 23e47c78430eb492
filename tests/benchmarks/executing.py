"""How many jobs a second one worker executes, when there is always another one: a task that does nothing.

The same server, the same machine and one worker process for each contestant, besides those with ``--concurrency``. It
is up and waits when its whole queue appears at once, and the time ends when the last job is on record as done.

What a worker says to Redis is counted by the server: the calls that come from it, and the commands that run inside of
them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import redis
from rq import Queue

from duly.common.records.definition import define
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.sweep import Sweeper
from duly.worker import task
from tests import servers
from tests.benchmarks.measuring import Comparison, Contestant, compare

QUEUE, ASIDE = "rq:queue:default", "bench:aside"
ROOT = Path(__file__).parents[2]
RQ = "from rq.cli import main; main()"
# RQ imports a function's module in each fork: one that is there already, or it would measure that.
RQ_FUNCTION = "os.getpid"
DULY = "from duly.common.cli import main; main()"


@task("bench.nothing")
def nothing() -> None:
    """What is executed."""


@dataclass
class Workplace:
    """A server, and the one worker that runs on it."""

    url: str
    client: redis.Redis = field(init=False)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.client = redis.Redis.from_url(self.url)

    def employ(self, command: str, *arguments: str, workers: int = 1) -> None:
        """Put the queue aside, and start workers; they wait when this returns."""
        self.client.rename(QUEUE, ASIDE)
        environment = os.environ | {"DULY_REDIS_URL": self.url, "PYTHONPATH": _path()}
        self._process = subprocess.Popen(
            [sys.executable, "-c", command, *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: sum(each["cmd"] == "blmove" for each in self._clients()) >= workers)

    def _clients(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.client.client_list()
        return found

    def dismiss(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def measure(rounds: int, size: int) -> Comparison:
    """On a Valkey of its own, without persistence, so that the disk has no say."""
    with tempfile.TemporaryDirectory() as folder, servers.running(servers.valkey_binary(), Path(folder)) as port:
        place = Workplace(f"redis://127.0.0.1:{port}/0")
        with contextlib.closing(place.client), _dismissed(place):
            comparison = compare(
                "One worker that executes jobs of nothing",
                "jobs/s",
                "rq Worker",
                [
                    _rq(place, "rq Worker", "rq.Worker", size // 50),
                    _rq(place, "rq SimpleWorker", "rq.SimpleWorker", size // 20),
                    _duly(place, "duly", size // 5),
                    _duly(place, "duly --isolate", size // 20, "--isolate"),
                    _duly(place, "duly --concurrency 2", size // 5, workers=2),
                    _duly(place, "duly --concurrency 4", size // 5, workers=4),
                ],
                rounds,
                also=["rq SimpleWorker"],
            )
            calls, commands = _said_per_job(place, size // 10)
    comparison.want("duly, x rq Worker", comparison.ratio("duly"), "20", "40")
    comparison.want("duly, x rq SimpleWorker", comparison.ratio("duly", "rq SimpleWorker"), "4")
    comparison.want("duly --isolate, x rq Worker", comparison.ratio("duly --isolate"), "2", "3.5")
    comparison.want("round trips a job", calls, "2", "1")
    comparison.want("commands a job, inside of scripts", commands, "20", "14")
    return comparison


@contextlib.contextmanager
def _dismissed(place: Workplace) -> Iterator[None]:
    try:
        yield
    finally:
        place.dismiss()


def _rq(place: Workplace, name: str, worker_class: str, jobs: int) -> Contestant:
    def prepare() -> None:
        place.dismiss()
        place.client.flushdb()
        queue = Queue(connection=place.client)
        queue.enqueue_many([Queue.prepare_data(RQ_FUNCTION) for _ in range(jobs)])
        place.employ(RQ, "worker", "--url", place.url, "--quiet", "--worker-class", worker_class)

    return Contestant(name, prepare, lambda: _execute(place, jobs, lambda: place.client.zcard("rq:finished:default")))


def _said_per_job(place: Workplace, jobs: int) -> tuple[float, float]:
    """What a worker calls for each of many jobs, and the commands that run for it inside of what it calls."""
    contestant = _duly(place, "duly", jobs)
    contestant.prepare()
    place.client.config_resetstat()
    contestant.run()
    ran = {name: each["calls"] for name, each in place.client.info("commandstats").items()}
    scripts = ran.pop("cmdstat_evalsha")
    watching = ran.pop("cmdstat_hget") - jobs  # a turn asks once; the rest is this process, which waits for the end
    assert watching >= 0
    return scripts / jobs, sum(ran.values()) / jobs + 1


def _duly(place: Workplace, name: str, jobs: int, *options: str, workers: int = 1) -> Contestant:
    store = Store.connect(Settings(redis_url=place.url))
    arguments = ["worker", "-m", __name__, "--no-scheduler", "--log-level", "warning", "--concurrency", str(workers)]

    def prepare() -> None:
        place.dismiss()
        place.client.flushdb()
        enqueue(store, jobs)
        place.employ(DULY, *arguments, *options, workers=workers)

    def done() -> int:
        return int(store.client.hget(store.keys.totals, "run:succeeded:SUCCEEDED") or 0)

    return Contestant(name, prepare, lambda: _execute(place, jobs, done))


def _execute(place: Workplace, jobs: int, done: Callable[[], int]) -> int:
    place.client.rename(ASIDE, QUEUE)
    wait_until(lambda: done() >= jobs)
    return jobs


def enqueue(store: Store, jobs: int, task_name: str = "bench.nothing") -> None:
    """One due tick of each of so many schedules, in the queue."""
    store.sweeping.claim_duty("bench", "bench", 600_000)
    for n in range(jobs):
        store.schedules.add(
            define(
                {
                    "schedule_id": f"s{n}",
                    "spec": "@every:3600000",
                    "task": task_name,
                    "missed_run_policy": "run_once",
                    "review_owner": "bench",
                }
            )
        )
    with store.client.pipeline(transaction=False) as pipe:
        for schedule_id, due in store.client.zrange(store.keys.due, 0, -1, withscores=True):
            pipe.hset(store.keys.schedule(schedule_id), "next_run_ms", int(due) - 3_600_000)
            pipe.zadd(store.keys.due, {schedule_id: int(due) - 3_600_000})
        pipe.execute()
    sweeper = Sweeper(store)
    while (done := sweeper.sweep_once("bench")) is not None and done.more:
        pass


def wait_until(condition: Callable[[], bool], deadline_s: float = 120.0) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)


def _path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
