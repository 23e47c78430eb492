"""The ticks of one schedule: its expression inside its bounds, and when each tick may be released. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.expression import Expression
from duly.common.identity import Occurrence, stable_hash


@dataclass(frozen=True, slots=True)
class TickRange:
    """A run of consecutive ticks: how many, the first and the last, in epoch milliseconds."""

    count: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class Timetable:
    """Ticks are nominal instants; jitter delays only the release of a tick, by a stable offset inside the window.

    All instants are epoch milliseconds, UTC. No method walks a backlog.
    """

    schedule_id: str
    expression: Expression
    jitter_window_ms: int = 0
    start_ms: int = 0
    end_ms: int | None = None

    def of(self, schedule_id: str) -> Timetable:
        """The same ticks, released as those of this schedule."""
        if self.schedule_id == schedule_id:
            return self
        return Timetable(schedule_id, self.expression, self.jitter_window_ms, self.start_ms, self.end_ms)

    @property
    def end_before_start(self) -> bool:
        return self.end_ms is not None and self.end_ms <= self.start_ms

    def next_after(self, after_ms: int) -> int | None:
        """The first tick after an instant, or None when the schedule has no more."""
        tick_ms = self.expression.next_after(max(after_ms, self.start_ms - 1))
        if tick_ms is None or (self.end_ms is not None and tick_ms > self.end_ms):
            return None
        return tick_ms

    def is_tick(self, tick_ms: int) -> bool:
        return self.next_after(tick_ms - 1) == tick_ms

    def release_ms(self, tick_ms: int) -> int:
        """When the tick may be enqueued: the tick plus its jitter. The same answer in every process."""
        if self.jitter_window_ms == 0:
            return tick_ms
        offset = stable_hash(str(Occurrence(self.schedule_id, tick_ms))) % (self.jitter_window_ms + 1)
        return tick_ms + offset

    def latest_released(self, now_ms: int, not_before_ms: int) -> int | None:
        """The latest tick that may be enqueued at ``now_ms`` and is not before ``not_before_ms``."""
        tick_ms = self._latest_at(now_ms, not_before_ms)
        # The window is smaller than the gap between ticks, so at most one due tick still waits for its release.
        if tick_ms is not None and self.release_ms(tick_ms) > now_ms:
            return self._latest_at(tick_ms - 1, not_before_ms)
        return tick_ms

    def most_recent(self, last_ms: int, limit: int, not_before_ms: int) -> list[int]:
        """The ``limit`` latest ticks up to ``last_ms``, none before ``not_before_ms``, oldest first."""
        return self.expression.most_recent(self._bounded(last_ms), limit, max(not_before_ms, self.start_ms))

    def range_between(self, first_ms: int, last_ms: int) -> TickRange | None:
        """The ticks from ``first_ms`` to ``last_ms``, both included; None when there are none."""
        first = self.next_after(first_ms - 1)
        last = self._latest_at(last_ms, first_ms)
        if first is None or last is None or first > last:
            return None
        return TickRange(self.expression.count_between(first, last), first, last)

    def _latest_at(self, now_ms: int, not_before_ms: int) -> int | None:
        return self.expression.latest_at(self._bounded(now_ms), max(not_before_ms, self.start_ms))

    def _bounded(self, instant_ms: int) -> int:
        return instant_ms if self.end_ms is None else min(instant_ms, self.end_ms)
