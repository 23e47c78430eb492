"""What RQ does to our worker: its signals, and its commands that end the work-horse."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from rq import Queue, Worker
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer
from rq.worker import WorkerStatus

from duly.common.records.occurrence import Effects
from duly.common.settings import Settings
from duly.worker import OutcomeUnknown, current_run, rounds, rq_worker, tasks
from duly.worker.allow_list import AllowList
from duly.worker.rq_worker import FleetWorker
from tests.conftest import Backend
from tests.store.conftest import Bench
from tests.store.test_crash_points import register
from tests.store.test_turns import delivered


@pytest.fixture
def worker(valkey: Backend) -> Iterator[FleetWorker]:
    assert valkey.url is not None
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    made = FleetWorker(Settings(redis_url=valkey.url), "w", ["default"], AllowList([], []))
    yield made
    for each, handler in handlers.items():
        signal.signal(each, handler)
    made._stable.kill()
    made._guard.close()


def test_a_stop_that_cannot_be_noted_in_redis_ends_nothing_that_runs(
    worker: FleetWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise redis.exceptions.ConnectionError("gone")

    worker.set_state(WorkerStatus.BUSY)
    patient = worker.connection
    monkeypatch.setattr(worker, "set_shutdown_requested_date", away)
    worker.request_stop(signal.SIGTERM, None)
    assert worker._account.must_stop
    assert worker.connection is not patient


def test_a_worker_that_was_asked_to_stop_waits_for_nothing_patiently(worker: FleetWorker) -> None:
    patient = worker.connection
    with worker._briskly():
        assert worker.connection is worker._brisk
    assert worker.connection is patient
    worker.set_state(WorkerStatus.BUSY)
    with worker._briskly():
        worker.request_stop(signal.SIGTERM, None)
    assert worker.connection is worker._brisk


@pytest.mark.parametrize(
    ("error", "farewells"),
    [
        (redis.exceptions.TimeoutError("late"), []),
        (redis.exceptions.ConnectionError("gone"), []),
        (redis.exceptions.OutOfMemoryError("full"), ["ours"]),
        (None, ["ours"]),
    ],
    ids=["late", "gone", "full", "well"],
)
def test_a_store_that_does_not_answer_rq_s_farewell_is_told_no_other(
    worker: FleetWorker, monkeypatch: pytest.MonkeyPatch, error: Exception | None, farewells: list[str]
) -> None:
    said: list[str] = []

    def die() -> None:
        assert worker.connection is worker._brisk
        if error:
            raise error

    monkeypatch.setattr(worker, "register_death", die)
    monkeypatch.setattr(worker._presence, "leave", lambda: said.append("ours"))
    with pytest.raises(type(error)) if error else contextlib.nullcontext():
        worker.teardown()
    assert said == farewells


def test_rq_s_commands_end_the_work_horse_of_the_moment_and_nobody_where_there_is_none(
    worker: FleetWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: ended.append(group))
    worker._in_rounds = True
    worker.kill_horse()
    assert ended == []
    first = worker._stable.ready()
    worker.kill_horse()
    assert ended == [first]
    monkeypatch.undo()
    worker._stable.kill()
    second = worker._stable.ready()
    assert worker.horse_pid == second != first


@pytest.fixture
def full_machine(worker: FleetWorker, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A machine on which nothing can be forked before four waits are over, in seconds."""
    waits: list[float] = []
    plain = os.fork

    def fork() -> int:
        if len(waits) < 4:
            raise OSError(errno.EAGAIN, "no more processes")
        return plain()

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(rq_worker.time, "sleep", waits.append)
    return waits


def test_a_worker_that_can_have_no_work_horse_waits_longer_each_time_and_says_so(
    worker: FleetWorker, full_machine: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    worker.set_state(WorkerStatus.IDLE)
    worker._wait_for_a_horse()
    assert full_machine == [0.5, 1, 2, 4]
    assert worker._stable.pid
    said = "w takes no job: no work-horse can be forked (no more processes); trying again in 500 ms"
    assert caplog.messages[0] == said
    assert len([each for each in caplog.messages if "takes no job" in each]) == 4


def test_a_stop_ends_the_wait_for_a_work_horse(
    worker: FleetWorker, full_machine: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: float) -> None:
        worker.request_stop(signal.SIGTERM, None)

    monkeypatch.setattr(rq_worker.time, "sleep", stop)
    worker.set_state(WorkerStatus.IDLE)
    with pytest.raises(StopRequested):
        worker._wait_for_a_horse()
    worker._stop_requested = True  # asked for while a job was in hand
    worker._wait_for_a_horse()
    assert worker._stable.pid == 0


def execute_next(worker: FleetWorker) -> None:
    """Have the worker make its rounds, as RQ does when it has taken the next job."""
    queue = Queue("default", connection=worker.connection, serializer=JSONSerializer)
    job_id = worker.connection.lpop(queue.key).decode()
    worker.execute_job(worker.job_class.fetch(job_id, worker.connection, JSONSerializer), queue)


def test_a_worker_waits_after_a_round_that_had_no_work_horse(
    worker: FleetWorker, full_machine: list[float], valkey: Backend
) -> None:
    bench = Bench(valkey, valkey.store())
    (occurrence,) = delivered(bench, "a", retry_budget=1)
    execute_next(worker)
    assert len(full_machine) == 4
    assert (bench.record(occurrence).state, bench.record(occurrence).attempt) == ("PENDING", 0)


def test_rq_counts_as_successes_what_succeeded_and_as_failures_what_ran_and_did_not(
    worker: FleetWorker, valkey: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        name = current_run().schedule_id
        if name == "fails":
            raise ValueError
        if name == "unknown":
            raise OutcomeUnknown
        if name == "dies":
            os._exit(1)

    monkeypatch.setattr(tasks, "_tasks", {})
    monkeypatch.setattr(rounds, "LONGEST_ROUND_MS", 60_000.0)
    register(Effects.UNSAFE, work)
    bench = Bench(valkey, valkey.store())
    never = {"base_ms": 600_000, "factor": 1, "max_ms": 600_000}
    delivered(bench, "good", "fails", "better", "unknown", "dies", "best", backoff=never)
    delivered(bench, "refused", task="not.here")
    (finished,) = delivered(bench, "finished")
    bench.store.attempts.complete(bench.running(finished), "ref")
    worker.register_birth()
    execute_next(worker)
    assert bench.queue() == []
    worker.refresh()
    assert (worker.successful_job_count, worker.failed_job_count) == (3, 3)
    delivered(bench, "once_more")
    execute_next(worker)
    worker.refresh()
    assert (worker.successful_job_count, worker.failed_job_count) == (4, 3)


@pytest.mark.parametrize(
    ("meta", "to_its_end"), [({}, False), ({"periodic_schedule_id": "docs", "periodic_tick_ms": 60_000}, True)]
)
def test_what_an_attempt_of_rq_s_own_work_horse_started_ends_with_it_and_what_an_ordinary_job_started_does_not(
    worker: FleetWorker, monkeypatch: pytest.MonkeyPatch, meta: dict[str, Any], to_its_end: bool
) -> None:
    watched = []
    monkeypatch.setattr(Worker, "fork_work_horse", lambda self, _job, _queue: setattr(self, "_horse_pid", 7))
    monkeypatch.setattr(worker._guard, "watch", lambda group, to_its_end: watched.append((group, to_its_end)))
    queue = Queue("default", connection=worker.connection, serializer=JSONSerializer)
    worker.fork_work_horse(queue.enqueue("math.sqrt", 4, meta=meta), queue)
    assert watched == [(7, to_its_end)]
