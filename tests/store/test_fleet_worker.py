"""What RQ does to our worker: its signals, and its commands that end the work-horse."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
import redis
from rq.worker import WorkerStatus

from duly.common.settings import Settings
from duly.worker.allow_list import AllowList
from duly.worker.rq_worker import FleetWorker
from tests.conftest import Backend


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
    assert worker.must_stop
    assert worker.connection is patient


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
