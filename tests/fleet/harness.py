"""A real server and a fleet of real processes on it, which tests kill, stop and start by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.records.definition import define
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.records.schedule import ScheduleRecord
from duly.common.settings import Settings
from duly.common.store import Store
from tests import servers
from tests.fleet import effects_log
from tests.fleet.processes import DEADLINE_S, alive, descendants, send, wait_until
from tests.fleet.tally import Effect

ROOT = Path(__file__).parents[2]
OPEN = {OccurrenceState.PENDING, OccurrenceState.LEASED, OccurrenceState.RUNNING, OccurrenceState.RETRY_WAIT}


class Server:
    """A Valkey with an append-only file, which can be ended and started again on the same port and data."""

    def __init__(self, folder: Path) -> None:
        self.port = servers.free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        command = [servers.valkey_binary(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self._folder), "--appendonly", "yes", "--appendfsync", "everysec"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        servers.await_server(self.port, self._process)

    def freeze(self) -> None:
        """Take what is sent and answer nothing, as behind a network that swallows packets."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """SIGTERM shuts it down in good order; SIGKILL does not."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait(timeout=20)
            self._process = None


@dataclass
class Container:
    """One supervisor and everything below it. ``name.s`` is its scheduler, ``name.1`` its first worker."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def pid_of(self, child: str) -> int:
        """The process id of a child, ``s`` or ``1``, when it runs."""
        return wait_until(lambda: self._running(child), f"{self.name}.{child} runs")

    def worker_pids(self) -> list[int]:
        return [pid for path in self.folder.glob(f"{self.name}.[0-9]*.pid") if alive(pid := int(path.read_text()))]

    def everything(self) -> list[int]:
        """The supervisor and all its descendants, work-horses too."""
        return [self.pid, *descendants(self.pid)]

    def kill(self) -> list[int]:
        """SIGKILL the supervisor alone; the ids of all processes that were there."""
        before = self.everything()
        self.process.kill()
        self.process.wait()
        return before

    def _running(self, child: str) -> int:
        path = self.folder / f"{self.name}.{child}.pid"
        if not path.exists():
            return 0
        pid = int(path.read_text())
        return pid if alive(pid) and pid in descendants(self.pid) else 0


@dataclass
class Fleet:
    """Containers with one prefix on one server, and the effects they had."""

    folder: Path
    url: str
    settings: dict[str, Any] = field(default_factory=dict)
    isolated: bool = False
    """Whether the workers fork for each job."""

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.effects_log = self.folder / "effects.jsonl"
        self.effects_log.touch()
        values = {"duty_ttl_ms": 1_500, "redelivery_ms": 1_000, "schedule_history": 5_000, **self.settings}
        self.settings = {"redis_url": self.url, **values}
        self.store = Store.connect(Settings(**self.settings))
        # RQ reads what a worker wrote as bytes.
        self.rq = redis.Redis.from_url(self.url)
        self.containers: dict[str, Container] = {}

    def start(
        self,
        name: str,
        *,
        workers: int = 1,
        queues: Iterable[str] = ("default",),
        scheduler: bool = True,
        grace_ms: int | None = None,
        burst: bool = False,
    ) -> Container:
        """Start a container; does not wait for it."""
        command = [sys.executable, "-m", "tests.fleet.launcher", name, str(self.folder), "--workers", str(workers)]
        command += ["--parent", str(os.getpid())]
        for queue in queues:
            command += ["--queue", queue]
        command += ["--isolate"] if self.isolated else []
        command += ["--burst"] if burst else []
        command += [] if scheduler else ["--no-scheduler"]
        command += [] if grace_ms is None else ["--grace-ms", str(grace_ms)]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("DULY_", "RQ_"))}
        environment |= {f"DULY_{key.upper()}": str(value) for key, value in self.settings.items()}
        if "prefix" in self.settings:
            environment["RQ_KEY_PREFIX"] = f"{self.settings['prefix']}-rq"
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment |= {effects_log.ENVIRONMENT: str(self.effects_log), "PYTHONPATH": path}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        self.containers[name] = Container(name, self.folder, process)
        return self.containers[name]

    # What the store says.
    def now_ms(self) -> int:
        return self.store.schedules.now_ms()

    def wait_for_instant(self, at_ms: float) -> None:
        """Until the store's clock has passed the instant."""
        wait_until(lambda: self.now_ms() >= at_ms, f"the store's clock passes {at_ms}", outage=True)

    def holder(self) -> str | None:
        """The name of the duty holder."""
        found: str | None = self.store.fleet.snapshot()["duty"]["holder"]
        return found

    def wait_for_holder(self, *names: str, deadline_s: float = DEADLINE_S) -> str:
        """Until one of these processes (or any) holds the duty; its name."""

        def held() -> str | None:
            holder = self.holder()
            return holder if holder and (not names or holder in names) else None

        return wait_until(held, f"{names or 'somebody'} holds the duty", deadline_s) or ""

    def wait_for_workers(self, *names: str) -> None:
        """Until these processes have said that they are there."""
        missing = set(names)
        wait_until(
            lambda: missing <= {each["name"] for each in self.store.fleet.snapshot()["workers"]}, f"{names} are there"
        )

    def add(self, schedule_id: str, task: str = "fleet.idempotent", **fields: Any) -> ScheduleRecord:
        """Write a schedule with short leases; ticks every second unless ``spec`` says otherwise."""
        defaults: dict[str, Any] = {
            "spec": "@every:1000",
            "missed_run_policy": "run_once",
            "review_owner": "reviewer",
            "lease_ttl_ms": 1_500,
            "timeout_ms": 60_000,
            "backoff": {"base_ms": 100, "factor": 2, "max_ms": 500},
        }
        return self.store.schedules.add(define({"schedule_id": schedule_id, "task": task, **defaults, **fields}))

    def once(self, schedule_id: str, task: str, **fields: Any) -> Occurrence:
        """A schedule with a single tick, some moments from now; the occurrence that it will be."""
        while True:
            tick_ms = (self.now_ms() // 100 + 5) * 100
            bounds = {"start_at": to_rfc3339(tick_ms), "end_at": to_rfc3339(tick_ms + 50)}
            record = self.add(schedule_id, task, spec="@every:100", **bounds, **fields)
            if record.next_run_ms == tick_ms:
                return Occurrence(schedule_id, tick_ms)
            self.store.schedules.delete(schedule_id)  # written too late; once more

    def wait_for_state(
        self, occurrence: Occurrence, *states: str, deadline_s: float = DEADLINE_S, outage: bool = False
    ) -> OccurrenceRecord:
        """Until the occurrence is in one of the states; its record."""

        def found() -> OccurrenceRecord | None:
            record = self.store.attempts.find(occurrence)
            return record if record is not None and record.state in states else None

        record = wait_until(found, f"{occurrence} is {' or '.join(states)}", deadline_s, outage=outage)
        assert record is not None
        return record

    def occurrences(self, schedule_id: str = "*") -> list[OccurrenceRecord]:
        """Everything on record of a schedule, or of all, in order."""
        prefix = self.store.keys.prefix
        names = self.store.client.scan_iter(match=f"{prefix}:occurrence:{schedule_id}@*", count=1000)
        found = sorted(Occurrence.parse(name.removeprefix(f"{prefix}:occurrence:")) for name in names)
        return [self.store.attempts.get(each) for each in found]

    def settle(self, *schedule_ids: str, deadline_s: float = 40.0) -> None:
        """Pause the schedules, and wait until none of their occurrences is open."""
        for each in schedule_ids:
            self.store.schedules.pause(each, "settling")
        wait_until(
            lambda: all(o.state not in OPEN for each in schedule_ids for o in self.occurrences(each)),
            "no occurrence is open",
            deadline_s,
        )

    # What the tasks did.
    def effects(self, kind: str = "effect", **where: Any) -> list[Effect]:
        """Lines of the effects log of one kind, as they were written."""
        chosen = [each for each in effects_log.read(self.effects_log) if each["kind"] == kind]
        return [Effect.from_line(each) for each in chosen if all(each[name] == value for name, value in where.items())]

    def effects_of(self, occurrence: Occurrence, kind: str = "effect") -> list[Effect]:
        return self.effects(kind, schedule_id=occurrence.schedule_id, tick_ms=occurrence.tick_ms)

    def wait_for_effect(self, occurrence: Occurrence, kind: str = "began", attempt: int = 1) -> Effect:
        """Until an attempt has written a line of this kind; the line, which names its work-horse."""

        def found() -> Effect | None:
            return next((e for e in self.effects_of(occurrence, kind) if e.attempt == attempt), None)

        effect = wait_until(found, f"{occurrence} attempt {attempt} wrote '{kind}'")
        assert effect is not None
        return effect

    def close(self) -> None:
        """Kill what is left, and show the logs to a test that failed."""
        for container in self.containers.values():
            left = container.everything()
            container.process.kill()
            container.process.wait()
            for pid in left[1:]:
                send(pid, signal.SIGKILL)
        for path in sorted(self.folder.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(errors='replace')[-6000:]}")
        self.store.client.close()
        self.rq.close()
