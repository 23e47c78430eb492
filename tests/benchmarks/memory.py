"""What processes cost the machine's memory: the duty holder of a large fleet, and a worker beside RQ's.

Megabytes of PSS: memory that several processes share is counted in parts. A worker is counted with its work-horse, if
it has one, and without its supervisor, of which a container has one, however many workers it runs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from rq import Queue

from duly.common.settings import Settings
from duly.common.store import Store
from tests.benchmarks import processes
from tests.benchmarks.bulk import add_all, daily, make_due, plain
from tests.benchmarks.measuring import Comparison, in_turn
from tests.benchmarks.work import nap, work
from tests.fleet.processes import descendants, wait_until

DISPATCH_S = 600.0


def measure(rounds: int, size: int) -> Comparison:
    """On a server of its own; the duty holder has ``size`` schedules, and has dispatched each of them once."""
    logging.disable(logging.INFO)
    holder = f"duly scheduler, {size:,}"
    with processes.server() as url:
        figures = in_turn(
            {
                "rq worker": lambda: rq_worker_mb(url, napping=False),
                "duly worker": lambda: duly_worker_mb(url, napping=False),
                "rq worker at work": lambda: rq_worker_mb(url, napping=True),
                "duly worker at work": lambda: duly_worker_mb(url, napping=True),
                "duly supervisor": lambda: supervisor_mb(url),
                holder: lambda: holder_mb(url, size),
            },
            rounds,
        )
    made = Comparison("Memory of processes", "MB", "rq worker", figures)
    made.want(f"{holder}, MB", figures[holder].median, "150", "80")
    made.want("duly worker / rq worker", made.ratio("duly worker"), "1.3", "1.05")
    at_work = made.ratio("duly worker at work", "rq worker at work")
    made.want("duly worker at work / rq worker at work", at_work, "1.3", "1.05")
    made.notes += ["workers have done a job and wait for the next one, or are at work on one that only waits"]
    return made


def rq_worker_mb(url: str, *, napping: bool) -> float:
    """`rq worker` with what it has forked."""
    with redis.Redis.from_url(url) as client:
        processes.empty(url)
        queue = Queue("default", connection=client)
        with processes.running("rq", "worker", "--url", url, "default") as pid:
            job = queue.enqueue(work)
            wait_until(lambda: job.get_status() == "finished", "the worker did a job")
            if napping:
                napping_job = queue.enqueue(nap, job_timeout=-1)
                wait_until(lambda: napping_job.get_status() == "started" and descendants(pid), "the worker works")
            return processes.settled_pss_mb(lambda: [pid, *descendants(pid)])


def duly_worker_mb(url: str, *, napping: bool) -> float:
    """The worker below `duly worker`'s supervisor, with what it has forked."""
    with _duly_worker(url) as (store, pid):
        _run(store, "bench.task", "SUCCEEDED")
        if napping:
            _run(store, "bench.nap", "RUNNING")
        return processes.settled_pss_mb(lambda: descendants(pid))


def supervisor_mb(url: str) -> float:
    """`duly worker`'s supervisor alone."""
    with _duly_worker(url) as (store, pid):
        _run(store, "bench.task", "SUCCEEDED")
        return processes.settled_pss_mb(lambda: [pid])


@contextmanager
def _duly_worker(url: str) -> Iterator[tuple[Store, int]]:
    store = Store.connect(Settings(redis_url=url))
    processes.empty(url)
    module = "tests.benchmarks.work"
    command = ("duly", "worker", "-m", module, "--no-scheduler", "--stop-grace-ms", "0")
    with processes.running(*command, redis_url=url) as pid:
        yield store, pid


def _run(store: Store, task: str, state: str) -> None:
    """One run of the task by hand; until its occurrence is in that state."""
    schedule_id = task.replace(".", "-")
    store.schedules.add(plain(schedule_id, task=task))
    run = store.manual.run(schedule_id, key="bench")
    wait_until(lambda: store.attempts.get(run.occurrence).state == state, f"{task} is {state}")


def holder_mb(url: str, size: int) -> float:
    """`duly scheduler` without its supervisor, after ``size`` schedules have each had a tick."""
    store = Store.connect(Settings(redis_url=url))
    processes.empty(url)
    add_all(store, daily(size))
    make_due(store)
    limits = {"queue_limit": max(size, Settings().queue_limit), "redelivery_ms": processes.LONG_MS}
    with processes.running("duly", "scheduler", redis_url=url, **limits) as pid:
        wait_until(lambda: store.client.llen("rq:queue:default") >= size, "everything is dispatched", DISPATCH_S)
        return processes.settled_pss_mb(lambda: descendants(pid))
