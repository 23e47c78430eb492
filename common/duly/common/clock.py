"""The only local clock. It may make a process wait or stop earlier; it never dates a durable fact."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in milliseconds."""

    def monotonic_ms(self) -> float:
        """Milliseconds since an arbitrary point; never goes back."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def monotonic_ms(self) -> float:
        return time.monotonic_ns() / 1e6


def wall_ms() -> int:
    """This machine's clock in epoch milliseconds, for display only: it may be wrong, and decides nothing."""
    return time.time_ns() // 1_000_000
