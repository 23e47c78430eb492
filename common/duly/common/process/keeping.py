"""Processes of this machine that are kept running."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duly.common.clock import Clock
from duly.common.process.local import LocalProcess
from duly.common.process.supervisor import FIRST_RESTART_MS, LAST_RESTART_MS, STABLE_MS


class Keeper:
    """Starts a process that ended by itself again, after a wait that grows while it keeps ending."""

    def __init__(self, processes: Sequence[LocalProcess], clock: Clock, say: Callable[[str], None]) -> None:
        """``say`` is told, in a line, of each that ended."""
        self._processes = processes
        self._clock = clock
        self._say = say
        self._waits = {each.name: FIRST_RESTART_MS for each in processes}
        self._restart_at: dict[str, float] = {}

    def look(self) -> None:
        """Look after all of them once; to be called again and again."""
        for each in self._processes:
            if not each.alive:
                self._look_after(each)

    def _look_after(self, process: LocalProcess) -> None:
        now_ms, name = self._clock.monotonic_ms(), process.name
        if name not in self._restart_at:
            stable = now_ms - process.started_ms >= STABLE_MS
            wait_ms = FIRST_RESTART_MS if stable else self._waits[name]
            self._waits[name] = min(wait_ms * 2, LAST_RESTART_MS)
            self._restart_at[name] = now_ms + wait_ms
            self._say(f"{name} ended; starting it again in {wait_ms:.0f} ms.")
        if now_ms >= self._restart_at[name]:
            del self._restart_at[name]
            process.start()
