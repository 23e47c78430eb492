"""How much one script call may do. Redis serves nobody else meanwhile, so its time is bounded, not the number. Pure."""

from __future__ import annotations

MOST_MS = 8.0
"""What a call is meant to take at most; a slow moment may take a little longer."""
FEWEST_TICKS, MOST_TICKS = 20, 500
_FIRST_TICKS = 100


class Pace:
    """Ticks in one call, learned from how long calls took."""

    def __init__(self) -> None:
        self.ticks = _FIRST_TICKS

    def learn(self, ticks: int, took_ms: float) -> None:
        """A call with so many ticks took so long, by the caller's clock; small ones say nothing of large ones.

        Too long is heeded at once. Room for more is used by half: the next call may meet other schedules.
        """
        if ticks < FEWEST_TICKS:
            return
        fitting = MOST_TICKS if took_ms <= 0 else int(ticks * MOST_MS / took_ms)
        wanted = fitting if fitting < self.ticks else (self.ticks + fitting + 1) // 2
        self.ticks = min(max(wanted, FEWEST_TICKS), MOST_TICKS)
