"""The demo's worker processes: started, killed and started again by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from duly.common.clock import Clock
from duly.common.process.local import LocalProcess, stop_all
from duly.common.settings import Settings

MODULE = "duly.worker.demo.updater"
NAMES = ("worker-1", "worker-2", "worker-3")
LEASE_TTL_MS = 3_000
_LOG_LINES = 6


def demo_settings(redis_url: str) -> Settings:
    """A fleet in a hurry: everything that is waited for comes sooner than by default, and all history is kept."""
    return Settings(redis_url=redis_url, duty_ttl_ms=2_000, redelivery_ms=2_000, schedule_history=2_000)


def environment(settings: Settings, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for `duly` processes of this fleet: what the user set for another fleet is left out."""
    kept = {name: text for name, text in (base or os.environ).items() if not name.startswith("DULY_")}
    return kept | {
        "DULY_REDIS_URL": settings.redis_url,
        "DULY_DUTY_TTL_MS": str(settings.duty_ttl_ms),
        "DULY_REDELIVERY_MS": str(settings.redelivery_ms),
        "DULY_SCHEDULE_HISTORY": str(settings.schedule_history),
    }


def name_of(owner: str | None) -> str:
    """The worker process behind an owner's or a duty holder's name (``worker-2.1@4711`` is of ``worker-2``)."""
    return (owner or "nobody").partition(".")[0]


def _words(name: str) -> tuple[str, ...]:
    return ("worker", "--name", name, "-m", MODULE)


class DemoFleet:
    """Three `duly worker` processes, each with its log in ``folder``."""

    def __init__(self, settings: Settings, folder: Path, clock: Clock) -> None:
        self._clock = clock
        env = environment(settings)
        self._workers = {
            name: LocalProcess(name, _words(name), env, folder / f"{name}.log", folder, clock) for name in NAMES
        }
        self._wanted: set[str] = set()

    def start(self, *names: str) -> None:
        """Start the named workers, or all."""
        for name in names or NAMES:
            self._workers[name].start()
            self._wanted.add(name)

    def kill(self, name: str) -> int:
        """SIGKILL to a worker and everything below it; how many processes that were."""
        self._wanted.discard(name)
        return self._workers[name].kill()

    def stop(self, grace_ms: float = 8_000.0) -> None:
        """Stop all workers as a deploy would: what runs may finish within the grace. None is left afterwards."""
        self._wanted.clear()
        stop_all(list(self._workers.values()), grace_ms, clock=self._clock)

    def destroy(self) -> None:
        """Kill all workers at once."""
        self._wanted.clear()
        for worker in self._workers.values():
            worker.kill()

    def alive(self, name: str) -> bool:
        return self._workers[name].alive

    def missing(self) -> list[str]:
        """Workers that should run and do not: they ended by themselves."""
        return sorted(name for name in self._wanted if not self._workers[name].alive)

    def last_log_lines(self) -> list[str]:
        """The ends of the workers' logs, each line with the worker's name."""
        lines = []
        for name, worker in self._workers.items():
            with suppress(OSError):
                tail = worker.log.read_text("utf-8", "replace").splitlines()[-_LOG_LINES:] if worker.log else []
                lines += [f"{name}: {line}" for line in tail]
        return lines
