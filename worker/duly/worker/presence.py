"""What a worker tells the fleet of itself, for people to look at; nothing depends on it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.store.fleet import FleetStore
from duly.worker.tasks import task_names


class Presence:
    """One worker's entry in the fleet. A store that is away is no reason to stop: nothing here raises for it."""

    def __init__(self, fleet: FleetStore, name: str, *, queues: Sequence[str], pid: int, host: str) -> None:
        self._fleet = fleet
        self._name = name
        self._queues, self._pid, self._host = list(queues), pid, host

    def say(self, state: str, occurrence: Occurrence | None = None, job_id: str | None = None) -> None:
        """Show the worker in this state, `busy` or `idle`, and at this job, for a while from now on."""
        details = {
            "role": "worker",
            "state": state,
            "queues": self._queues,
            "occurrence": str(occurrence) if occurrence else None,
            "job_id": job_id,
            "pid": self._pid,
            "host": self._host,
            "tasks": task_names(),
        }
        with contextlib.suppress(StoreUnavailable):
            self._fleet.beat(self._name, details)

    def leave(self) -> None:
        """The worker ends."""
        with contextlib.suppress(StoreUnavailable):
            self._fleet.leave(self._name)
