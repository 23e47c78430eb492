"""Work-horses of the simulated workers: the worker's stable and the work-horse are real, between two processes that
the stage plays. What is not: the fork, the sockets, and what one attempt may leave behind in its process."""

from __future__ import annotations

import contextlib
import contextvars
import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from duly.worker import forked, horse
from duly.worker.channel import Channel, ChannelBroken
from duly.worker.forked import ForkedHorse
from duly.worker.horse import Limits
from duly.worker.stable import Stable
from tests.simulator.stage import Process, Stage

FOREVER = 1e12
KILLED = 9


class Wire(Channel):
    """One end of a channel, in the hands of one process."""

    def __init__(self, process: Process) -> None:
        self._process, self._inbox = process, deque[str]()
        self._closed = False
        self.other = self

    @classmethod
    def between(cls, one: Process, other: Process) -> tuple[Wire, Wire]:
        """Both ends."""
        ends = cls(one), cls(other)
        ends[0].other, ends[1].other = ends[1], ends[0]
        return ends

    @property
    def _gone(self) -> bool:
        return self._closed or not self._process.alive

    def readable(self) -> bool:
        """Whether whoever reads now need not wait."""
        return bool(self._inbox) or self.other._gone

    def fileno(self) -> int:
        return id(self)

    @property
    def has_read_ahead(self) -> bool:
        return bool(self._inbox)

    def close(self) -> None:
        self._closed = True

    def send(self, message: dict[str, Any]) -> None:
        if self.other._gone:
            raise ChannelBroken("nobody is there to read")
        self.other._inbox.append(json.dumps(message))

    def receive(self) -> dict[str, Any]:
        while not self.readable():
            self._process.stage.sleep(FOREVER, self.readable)
        if not self._inbox:
            raise ChannelBroken("the other side has closed")
        message: dict[str, Any] = json.loads(self._inbox.popleft())
        return message


class _Poll:
    """What the worker waits at."""

    def __init__(self, stage: Stage, ends: tuple[Wire, ...]) -> None:
        self._stage, self._ends = stage, ends

    def _any(self) -> bool:
        return any(end.readable() for end in self._ends)

    def poll(self, wait_ms: float) -> list[tuple[int, int]]:
        if not self._any():
            self._stage.sleep(wait_ms, self._any)
        return [(end.fileno(), 1) for end in self._ends if end.readable()]


class SimulatedStable(Stable):
    """A worker's stable. ``owner``: under which name the attempt is made that is asked for next; ``said``: what it came
    to."""

    def __init__(
        self, worker: Process, name: Callable[[], str], limits: Limits, misfortune: Callable[[], None]
    ) -> None:
        guard: Any = SimpleNamespace(watch=lambda _pid, to_its_end: None, release=lambda: None, keep=lambda: None)
        super().__init__(limits, guard, lambda: None)
        self._worker, self._name, self._misfortune = worker, name, misfortune
        self.owner = ""
        self.said = ""

    def ask(self, message: dict[str, Any], *others: Callable[[], Any]) -> dict[str, Any]:
        self.ready()
        process = self._worker.stage.processes[self.pid]
        process.owner, process.notes["works_on"] = self.owner, f"{message['schedule_id']}@{message['tick_ms']}"
        answer = super().ask(message, *others)
        self.said = str(answer.get("kind", ""))
        return answer

    def _fork(self) -> Any:
        worker, stage = self._worker, self._worker.stage
        process = Process(stage, self._name(), worker)
        process.notes["parent"], worker.notes["horse"] = worker, process
        (work, its_work), (lease, its_lease) = Wire.between(worker, process), Wire.between(worker, process)
        stage.spawn(process, process.name, lambda: self._serve(its_work, its_lease), main=True)
        return ForkedHorse(process.pid, work, lease, _Poll(stage, (work, lease)))  # type: ignore[arg-type]

    def _serve(self, work: Wire, lease: Wire) -> None:
        """As `horse.serve`, whose process would end where this returns."""
        with contextlib.suppress(ChannelBroken):
            served = horse._Horse(lease, self._limits)
            while True:
                asked = work.receive()
                self._misfortune()
                answer = contextvars.copy_context().run(served.do, asked)
                self._misfortune()
                work.send(answer)
                spent = "failure" if answer["failed"] else served.spent()
                work.send({"spent": spent})
                if spent:
                    work.receive()


@contextmanager
def simulated_horses(stage: Stage) -> Iterator[None]:
    """Inside the block process ids are those of the stage's processes."""

    def has_ended(pid: int) -> bool:
        return not stage.processes[pid].alive

    def ends_by_itself(pid: int) -> bool:
        stage.sleep(2_000, lambda: has_ended(pid))
        return has_ended(pid)

    def kill(pid: int) -> None:
        stage.processes[pid].die("killed by its worker")

    with ExitStack() as patches:
        for module, name, value in (
            (forked, "has_ended", has_ended),
            (forked, "ends_by_itself", ends_by_itself),
            (forked, "kill", kill),
            (forked.os, "waitpid", lambda pid, _options: (pid, KILLED)),
            (horse, "Leftovers", lambda _growth_mb: SimpleNamespace(found=lambda: "")),
        ):
            patches.enter_context(patch.object(module, name, value))
        yield
