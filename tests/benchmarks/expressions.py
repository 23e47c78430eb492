"""The next tick of an expression that is known, against croniter built anew for each, as schedulers without state do.

Both in a zone whose clocks change, over instants of a whole year, so that the days on which they do are among them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import cycle, islice
from zoneinfo import ZoneInfo

from croniter import croniter

from duly.common.expression import parse
from tests.benchmarks.measuring import Comparison, Contestant, compare

ZONE = "America/New_York"
FIELDS = ("*/5 * * * *", "30 1 * * *", "0 9 * * MON-FRI", "15 2 1,15 * *")
_FIRST_S = 1_767_225_600  # 2026-01-01
_STEP_S = 7_919  # seconds; no divisor of a day, so that the instants of a year show every time of day


def measure(rounds: int, size: int) -> Comparison:
    """``size`` ticks of ours in a round, and a tenth of them of croniter's."""
    ours = _contestant("duly, known expression", size, _ours())
    theirs = _contestant("croniter, built anew", max(size // 10, 1), _theirs())
    made = compare(f"Next ticks in {ZONE}", "ticks/s", theirs.name, [ours, theirs], rounds)
    made.want("duly / croniter", made.ratio(ours.name), "20", "40")
    return made


def instants_s(count: int) -> list[int]:
    """Epoch seconds all over a year."""
    year_s = 365 * 86_400
    return [_FIRST_S + number * _STEP_S % year_s for number in range(count)]


def _contestant(name: str, count: int, ask: Callable[[str, int], object]) -> Contestant:
    questions = list(zip(islice(cycle(FIELDS), count), instants_s(count), strict=True))

    def run() -> int:
        for fields, instant_s in questions:
            ask(fields, instant_s)
        return count

    return Contestant(name, lambda: None, run)


def _ours() -> Callable[[str, int], object]:
    known = {fields: parse(f"CRON_TZ={ZONE} {fields}") for fields in FIELDS}
    return lambda fields, instant_s: known[fields].next_after(instant_s * 1000)


def _theirs() -> Callable[[str, int], object]:
    zone = ZoneInfo(ZONE)
    return lambda fields, instant_s: croniter(fields, datetime.fromtimestamp(instant_s, zone)).get_next(float)
