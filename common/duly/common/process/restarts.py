"""How long to wait before something that ended is started again. Pure: whoever asks has the clock."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_RESTART_MS = 500.0
LAST_RESTART_MS = 15_000.0
STABLE_MS = 30_000.0
"""What has run for so long is started again as if it had never ended before."""


@dataclass(slots=True)
class Restarts:
    """The waits of one thing that keeps ending: 500 ms, then twice as long each time, 15 s at most."""

    _next_ms: float = FIRST_RESTART_MS

    def ended(self, now_ms: float, started_ms: float) -> float:
        """It ended at ``now_ms``, or could not be started; the milliseconds to wait before the next start."""
        wait_ms = FIRST_RESTART_MS if now_ms - started_ms >= STABLE_MS else self._next_ms
        self._next_ms = min(wait_ms * 2, LAST_RESTART_MS)
        return wait_ms
