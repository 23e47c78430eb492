"""A zone's wall clock as a sequence of spans, inside each of which local time is UTC plus a constant.

`zoneinfo` answers "what is the offset at this instant?" and does not list its transitions, so they are
found by probing and bisection, once per zone and stretch of about a year, and kept. Inside a span
everything is integer arithmetic, and a gap or a fold is crossed by going to the neighbouring span, not by
trying the times in it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from .base import HORIZON_S
from .errors import ExpressionError
from .example import Example

DAY_S: Final = 86_400
_FIELD: Final = "spec.timezone"
_STRETCH_BITS: Final = 25  # 2**25 s are 388 days

# The shortest time any zone has kept one offset since 1970, or is known to plan, is just under seven days
# (Brazil in October 2000, Gaza around Ramadan); probing at less than half of that sees every transition.
_PROBE_S: Final = 3 * DAY_S

# UTC offsets lie strictly within a day of zero, so what the clocks showed more than two days ago cannot be
# shown again.
_LOOKBACK_S: Final = 2 * DAY_S

# Past 2037 zones follow a rule that repeats at the same local time every year.
_LAST_STRETCH_OF_NEW_RULES: Final = 2_240_000_000 >> _STRETCH_BITS


def examples() -> tuple[Example, ...]:
    """Names that `zone` accepts and refuses."""
    return (
        Example("UTC", "always known, even without a zone database"),
        Example("America/New_York", "an IANA name"),
        Example("Etc/GMT+5", "an IANA name with a sign"),
        Example("america/new_york", "names are case-sensitive", _FIELD),
        Example("Mars/Olympus", "no such zone", _FIELD),
        Example("+02:00", "an offset is not a zone", _FIELD),
        Example("../../etc/passwd", "a path", _FIELD),
        Example("/usr/share/zoneinfo/UTC", "a path", _FIELD),
        Example("", "nothing", _FIELD),
    )


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of UTC of one offset, `[start, end)` in epoch seconds; `end` need not be a transition.

    `fresh` is the first local second that the zone's clocks had not shown before the span, so local times
    of the span from `fresh` on are first occurrences, and those below it are repetitions.
    """

    start: int
    end: int
    offset: int
    fresh: int


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone by its IANA name; get one from `zone`, which checks the name."""

    key: str

    def span_at(self, second: int) -> Span:
        """The span that holds an instant, `0 <= second < HORIZON_S`."""
        spans = _spans(self.key, second >> _STRETCH_BITS)
        for span in spans:
            if second < span.end:
                return span
        raise AssertionError(f"no span of {self.key} holds {second}")

    def forward_jumps(self) -> frozenset[tuple[int, int]]:
        """Each way in which the zone's clocks have gone or will go forward.

        A pair is the local second of the day that was skipped first, and how many seconds were skipped.
        """
        return _forward_jumps(self.key)


def zone(name: str) -> Zone:
    """The zone of that name; raises `ExpressionError`, also for anything that could be taken for a path."""
    if name != "UTC" and name not in _known_names():
        raise ExpressionError(_FIELD, f"{name!r} is not an IANA zone known here; write a name such as 'Europe/Paris'")
    return Zone(name)


@lru_cache(maxsize=1)
def _known_names() -> frozenset[str]:
    # `localtime` means something else on every machine, and `Factory` says that no zone was chosen.
    return frozenset(available_timezones() - {"localtime", "Factory"})


@lru_cache(maxsize=4096)
def _spans(key: str, stretch: int) -> tuple[Span, ...]:
    """The spans that cover one stretch of 2**25 seconds, in order."""
    source = UTC if key == "UTC" else ZoneInfo(key)
    first = stretch << _STRETCH_BITS
    end = min(first + (1 << _STRETCH_BITS), HORIZON_S)
    spans: list[Span] = []
    start, shown = first - _LOOKBACK_S, first - 2 * _LOOKBACK_S
    while start < end:
        offset = _offset_at(source, start)
        stop = _next_change(source, start, end)
        if stop > first:
            start = max(start, first)
            spans.append(Span(start, stop, offset, max(start + offset, shown)))
        shown = max(shown, stop + offset)
        start = stop
    return tuple(spans)


def _next_change(source: tzinfo, start: int, end: int) -> int:
    """The first second after `start` with another offset than `start` has; `end` when none comes earlier."""
    offset = _offset_at(source, start)
    for low in range(start, end, _PROBE_S):
        high = min(low + _PROBE_S, end)
        if _offset_at(source, high) != offset:
            between = range(low + 1, high)
            return low + 1 + bisect_left(between, True, key=lambda s: _offset_at(source, s) != offset)
    return end


def _offset_at(source: tzinfo, second: int) -> int:
    """Seconds by which the zone's local time is ahead of UTC at an instant."""
    offset = datetime.fromtimestamp(second, source).utcoffset()
    assert offset is not None  # only naive times have none
    return int(offset.total_seconds())


@lru_cache(maxsize=256)
def _forward_jumps(key: str) -> frozenset[tuple[int, int]]:
    if key == "UTC":
        return frozenset()
    spans = [span for n in range(_LAST_STRETCH_OF_NEW_RULES + 1) for span in _spans(key, n)]
    return frozenset(
        ((before.end + before.offset) % DAY_S, after.offset - before.offset)
        for before, after in pairwise(spans)
        if after.offset > before.offset
    )
