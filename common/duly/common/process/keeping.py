"""Processes of this machine that are kept running."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duly.common.clock import Clock
from duly.common.process.local import LocalProcess
from duly.common.process.restarts import Restarts


class Keeper:
    """Starts a process that ended by itself again, after a wait that grows while it keeps ending."""

    def __init__(self, processes: Sequence[LocalProcess], clock: Clock, say: Callable[[str], None]) -> None:
        """``say`` is told, in a line, of each that ended."""
        self._processes = processes
        self._clock = clock
        self._say = say
        self._restarts = {each.name: Restarts() for each in processes}
        self._restart_at: dict[str, float] = {}

    def look(self) -> None:
        """Look after all of them once; to be called again and again."""
        for each in self._processes:
            if not each.alive:
                self._look_after(each)

    def _look_after(self, process: LocalProcess) -> None:
        now_ms, name = self._clock.monotonic_ms(), process.name
        if name not in self._restart_at:
            wait_ms = self._restarts[name].ended(now_ms, process.started_ms)
            self._restart_at[name] = now_ms + wait_ms
            self._say(f"{name} ended; starting it again in {wait_ms:.0f} ms.")
        if now_ms >= self._restart_at[name]:
            del self._restart_at[name]
            self._start(process)

    def _start(self, process: LocalProcess) -> None:
        try:
            process.start()
        except OSError as error:  # a full machine may have room again
            self._say(f"{process.name} could not be started: {error.strerror}.")
