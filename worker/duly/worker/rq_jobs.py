"""RQ's jobs as our workers take them: what they may call, and which of them carry an occurrence."""

from __future__ import annotations

from typing import Any

from rq.job import Job
from rq.timeouts import UnixSignalDeathPenalty

from duly.common.errors import DulyError
from duly.common.identity import Occurrence
from duly.worker.allow_list import AllowList


class SparingDeathPenalty(UnixSignalDeathPenalty):
    """RQ's time-out, which leaves SIGALRM alone where the job has none: there it guards the lease."""

    def setup_death_penalty(self) -> None:
        if self._timeout > 0:
            super().setup_death_penalty()  # type: ignore[no-untyped-call]

    def cancel_death_penalty(self) -> None:
        if self._timeout > 0:
            super().cancel_death_penalty()  # type: ignore[no-untyped-call]


class FleetJob(Job):
    """RQ's job, whose callbacks are on the allow-list too, whoever calls them: RQ's maintenance does, for lost jobs.

    Its webhooks are never sent: a job could name any address.
    """

    allow_list: AllowList

    @property
    def success_callback(self) -> Any:
        return super().success_callback if self._permits(self._success_callback_name) else None

    @property
    def failure_callback(self) -> Any:
        return super().failure_callback if self._permits(self._failure_callback_name) else None

    @property
    def stopped_callback(self) -> Any:
        return super().stopped_callback if self._permits(self._stopped_callback_name) else None

    def send_webhooks(self, *_arguments: Any, **_options: Any) -> None:
        """Nothing is sent."""

    def _permits(self, name: Any) -> bool:
        return isinstance(name, str) and self.allow_list.permits(name)


def occurrence_of(job: Job) -> Occurrence | None:
    """The occurrence that a job of ours carries, None for an ordinary RQ job."""
    meta = job.meta or {}
    try:
        return Occurrence.parse(f"{meta['periodic_schedule_id']}@{meta['periodic_tick_ms']}")
    except (KeyError, TypeError, DulyError):
        return None
