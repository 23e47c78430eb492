"""Ticks as people write and read them: by UTC and by the wall clock of their zone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from duly.common.errors import InvalidField
from duly.common.identity import check_tick_ms
from duly.common.instant import to_datetime, to_ms, to_rfc3339
from duly.common.timetable import Timetable


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick; ``at`` is its local time, ``oddity`` what a reader of that should know about the clocks."""

    ms: int
    at: datetime
    oddity: str = ""

    @property
    def local(self) -> str:
        """``Sat 2026-01-31 09:00:00``."""
        return self.at.strftime("%a %Y-%m-%d %H:%M:%S")

    @property
    def offset(self) -> str:
        """``+01:00``."""
        return self.at.isoformat()[-6:]

    def to_dict(self) -> dict[str, Any]:
        local = self.at.isoformat(timespec="milliseconds" if self.ms % 1000 else "seconds")
        return {"tick_ms": self.ms, "utc": to_rfc3339(self.ms), "local": local}


def read_tick(text: str) -> int:
    """The tick of an argument: epoch milliseconds or RFC 3339; raises InvalidField."""
    if text.isascii() and text.isdigit():
        return check_tick_ms(text)
    try:
        return to_ms(text, "tick")
    except InvalidField:
        raise InvalidField(
            "tick", "must be epoch milliseconds (1767225600000) or an instant (2026-01-01T00:00:00Z)"
        ) from None


def next_ticks(timetable: Timetable, after_ms: int, number: int) -> list[Tick]:
    """The first ticks after an instant, at most so many."""
    zone = ZoneInfo(timetable.expression.timezone)
    return list(_told(islice(_after(timetable, after_ms), number), zone))


def preview(timetable: Timetable, ticks: Sequence[Tick]) -> dict[str, Any]:
    """Ticks of a timetable, as `duly schedule preview --json` and the API print them."""
    return {
        "spec": timetable.expression.spec,
        "timezone": timetable.expression.timezone,
        "ticks": [tick.to_dict() for tick in ticks],
    }


def _after(timetable: Timetable, after_ms: int) -> Iterator[int]:
    tick_ms = timetable.next_after(after_ms)
    while tick_ms is not None:
        yield tick_ms
        tick_ms = timetable.next_after(tick_ms)


def _told(ticks: Iterable[int], zone: ZoneInfo) -> Iterator[Tick]:
    before: timedelta | None = None
    for ms in ticks:
        at = to_datetime(ms).astimezone(zone)
        offset = _offset(at)
        oddity = ""
        if before is not None and before != offset:
            oddity = "clocks forward" if offset > before else "clocks back"
        elif at.fold == 0 and _offset(at.replace(fold=1)) != offset:
            oddity = "first of two"
        yield Tick(ms, at, oddity)
        before = offset


def _offset(at: datetime) -> timedelta:
    return at.utcoffset() or timedelta()
