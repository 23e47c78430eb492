"""`duly up`: a fleet with a store of its own, kept running, its data kept in a folder."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import pytest

from duly.common.records.definition import define
from duly.common.settings import Settings
from duly.common.store import Store
from tests.acceptance.story_processes import Programs, until, wait_for

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


@dataclass
class Up:
    """A running `duly up` and the store it announced."""

    process: Popen[bytes]
    url: str

    @property
    def store(self) -> Store:
        return Store.connect(Settings(redis_url=self.url))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path)
    yield made
    left = made.left()
    made.end()
    assert left == []


def up(programs: Programs, *words: str) -> Up:
    log = programs.folder / "log"
    process = programs.start("up", "--json", *words, log=log)
    wait_for(log, '"redis_url"', process)
    said = next(line for line in log.read_text("utf-8").splitlines() if line.startswith("{"))
    return Up(process, json.loads(said)["redis_url"])


def add_schedule(store: Store, kwargs: dict[str, str] | None = None) -> None:
    fields = {
        "schedule_id": "docs", "spec": "@every:1000", "task": "docs.refresh", "missed_run_policy": "run_once",
        "review_owner": "Ada", "kwargs": kwargs or {},
    }  # fmt: skip
    store.schedules.add(define(fields))


def successes(store: Store) -> int:
    return sum(run.event == "succeeded" for run in store.trails.runs("docs", 200)[0])


def present(store: Store) -> list[str]:
    return [worker["name"] for worker in store.fleet.snapshot()["workers"]]


def test_it_runs_schedules_stops_on_one_ctrl_c_and_keeps_its_data_and_port(programs: Programs) -> None:
    first = up(programs)
    add_schedule(first.store)
    assert until(lambda: successes(first.store) >= 2, 60)
    seen = successes(first.store)
    assert first.stop() == 0
    again = up(programs, "--workers", "2")
    assert again.url == first.url
    assert until(lambda: successes(again.store) > seen, 60)
    assert until(lambda: {name.partition(".")[0] for name in present(again.store)} == {"up-1", "up-2"}, 60)
    assert again.stop() == 0
    assert sorted(path.name for path in programs.home.iterdir()) == [".duly"]


def test_a_second_one_on_the_same_folder_is_refused_in_one_line(programs: Programs) -> None:
    first = up(programs)
    second_log = programs.folder / "second"
    second = programs.start("up", log=second_log)
    assert second.wait(60) == 1
    said = second_log.read_text("utf-8")
    assert said.count("\n") == 1
    assert "is in use by another store" in said
    assert first.store.client.ping()
    assert first.stop() == 0


def test_a_store_and_a_worker_that_are_killed_come_back(programs: Programs) -> None:
    running = up(programs)
    add_schedule(running.store)
    assert until(lambda: successes(running.store) >= 1, 60)
    pid = running.store.client.info("server")["process_id"]
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: _store_process(running) not in {None, pid}, 60)
    seen = successes(running.store)
    assert until(lambda: successes(running.store) > seen, 60)
    worker = next(each["pid"] for each in running.store.fleet.snapshot()["workers"] if each["name"] == "up-1.1")
    parent = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    seen = successes(running.store)
    assert until(lambda: successes(running.store) > seen, 90)
    assert running.stop() == 0


def test_a_module_that_cannot_be_imported_is_refused_before_anything_starts(programs: Programs) -> None:
    log = programs.folder / "log"
    assert programs.start("up", "-m", "no_such_tasks", log=log).wait(60) == 1
    assert "no_such_tasks" in log.read_text("utf-8")
    assert list(programs.home.iterdir()) == []


def test_an_up_that_is_killed_takes_everything_with_it(programs: Programs) -> None:
    running = up(programs)
    running.process.kill()
    running.process.wait()
    assert programs.left() == []


def _store_process(running: Up) -> int | None:
    try:
        return int(running.store.client.info("server")["process_id"])
    except Exception:  # noqa: BLE001 - it is coming back
        return None
