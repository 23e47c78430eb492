"""The face every parsed expression shows, whichever kind it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

ScheduleType = Literal["calendar", "interval"]

SECOND_MS: Final = 1_000

# 9999-12-30T00:00:00Z. Ticks live in [epoch, horizon): two days short of the end of `datetime`, so that no
# zone's local time can overflow it.
HORIZON_S: Final = 253_402_128_000
HORIZON_MS: Final = HORIZON_S * SECOND_MS


@dataclass(frozen=True, slots=True)
class Expression(ABC):
    """A rule that fixes, for all time, which instants are ticks. Immutable, and equal when `spec` is.

    Every instant is an integer of epoch milliseconds, UTC. Ticks lie between the epoch and the end of the
    year 9999; any integer may be asked about, and outside that range there is simply no tick. No method
    raises, and none takes longer because more ticks lie between the instants it is given (`count_between`
    pays by the year, `most_recent` by the number it returns).
    """

    schedule_type: ClassVar[ScheduleType]

    spec: str
    """The text as given, without surrounding spaces."""
    timezone: str = field(compare=False, repr=False)
    """IANA name of the zone whose wall clock the rule reads; `UTC` when none was given, and for intervals."""
    period_ms: int | None = field(compare=False, repr=False)
    """Milliseconds between ticks of an interval; None for a calendar rule."""

    @abstractmethod
    def smallest_gap_ms(self) -> int:
        """A positive lower bound, in ms, on the distance between two successive ticks.

        Exact for intervals and for calendar rules in UTC. In a zone it takes each forward jump of the clocks
        to fall on a day that matches, and is up to a day too small for rules without two days in a row.
        """

    @abstractmethod
    def next_after(self, after_ms: int) -> int | None:
        """The first tick strictly after `after_ms`; None when there is none before the horizon."""

    @abstractmethod
    def latest_at(self, now_ms: int, not_before_ms: int) -> int | None:
        """The last tick in `[not_before_ms, now_ms]`, both ends included; None when there is none."""

    @abstractmethod
    def most_recent(self, now_ms: int, limit: int, not_before_ms: int) -> list[int]:
        """The last `limit` ticks in `[not_before_ms, now_ms]`, oldest first; none when `limit` is below 1."""

    @abstractmethod
    def count_between(self, first_ms: int, last_ms: int) -> int:
        """Exactly how many ticks lie in `[first_ms, last_ms]`, both ends included; 0 for an empty range."""

    @abstractmethod
    def is_tick(self, ms: int) -> bool:
        """Whether `ms` is a tick, to the millisecond."""
