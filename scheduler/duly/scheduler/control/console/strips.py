"""Ticks and outcomes as a row of marks, each with a shape of its own. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from duly.common.explain.text import count
from duly.common.explain.words import audit_reason, transition
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.scheduler.control.console.wording import stamp, tone

LENGTH = 60
STEP = 10
"""Width of a mark with its gap, in the units of the drawing."""
TONES = {
    "done": "done",
    "running": "running",
    "waiting": "waiting",
    "held": "held",
    "failed": "failed",
    "skipped": "skipped",
    "abandoned": "given up",
    "none": "detail expired",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """One tick. ``tone`` decides shape and colour; ``label`` says it in words."""

    tick_ms: int
    tone: str
    label: str
    at: int = 0
    """Where it stands in the drawing."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The latest ticks of a schedule, the oldest first, and a sentence that says the same."""

    marks: Sequence[Mark]
    summary: str

    @property
    def width(self) -> int:
        return LENGTH * STEP


def tick_strip(events: Iterable[EnqueueEvent], runs: Iterable[RunEvent], length: int = LENGTH) -> Strip:
    """What became of the latest ticks, from the audit trail and the run history, both newest first."""
    marks: dict[int, Mark] = {}
    for run in runs:
        if run.tick_ms not in marks:
            marks[run.tick_ms] = Mark(run.tick_ms, tone(run.state), f"{stamp(run.tick_ms)}: {transition(run)}")
    for event in events:
        if event.tick_ms not in marks:
            marks[event.tick_ms] = _audited(event)
    latest = sorted(marks.values(), key=lambda mark: mark.tick_ms)[-length:]
    first = length - len(latest)
    placed = [Mark(m.tick_ms, m.tone, m.label, (first + n) * STEP) for n, m in enumerate(latest)]
    return Strip(placed, _summary(placed))


def _audited(event: EnqueueEvent) -> Mark:
    # Enqueued, and no run of it in the history: that is longer ago than the history reaches.
    shape = "none" if event.outcome in {"enqueued", "deduplicated"} else tone(event.outcome)
    several = f" ({count(event.count, 'tick')})" if event.count > 1 and event.outcome == "skipped" else ""
    return Mark(event.tick_ms, shape, f"{stamp(event.tick_ms)}: {audit_reason(event.reason)}{several}")


def _summary(marks: Sequence[Mark]) -> str:
    if not marks:
        return "no ticks yet"
    numbers = Counter(mark.tone for mark in marks)
    told = ", ".join(f"{numbers[each]} {word}" for each, word in TONES.items() if numbers[each])
    return f"last {count(len(marks), 'tick')}: {told}"


@dataclass(frozen=True, slots=True)
class Block:
    """How many of one outcome fall into one slice of time; a rectangle of the drawing."""

    tone: str
    number: int
    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of time."""

    from_ms: int
    until_ms: int
    label: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Hours:
    """Outcomes of the last hours, in slices. ``since_ms``: how far back the records that were read reach."""

    slices: Sequence[Slice]
    totals: Sequence[tuple[str, str, int]]
    since_ms: int
    complete: bool
    height: int
    width: int


SLICES = 36
SLICE_MS = 10 * 60_000
_HEIGHT = 60
_ENDINGS = {"succeeded", "failed", "held", "cancelled", "coalesced", "abandoned"}


def hours_strip(runs: Sequence[RunEvent], now_ms: int, *, more: bool) -> Hours:
    """How runs of the fleet ended in the last hours; ``runs`` newest first, ``more`` when older ones were not read."""
    end_ms = (now_ms // SLICE_MS + 1) * SLICE_MS
    first_ms = end_ms - SLICES * SLICE_MS
    counted: list[Counter[str]] = [Counter() for _ in range(SLICES)]
    for run in runs:
        if run.event in _ENDINGS and first_ms <= run.at_ms < end_ms:
            counted[(run.at_ms - first_ms) // SLICE_MS][tone(run.state)] += 1
    highest = max((sum(each.values()) for each in counted), default=0) or 1
    slices = [_slice(n, each, first_ms + n * SLICE_MS, highest) for n, each in enumerate(counted)]
    sums: Counter[str] = sum(counted, Counter())
    totals = [(each, word, sums[each]) for each, word in TONES.items() if sums[each]]
    reach_ms = runs[-1].at_ms if more and runs else first_ms
    return Hours(slices, totals, max(first_ms, reach_ms), reach_ms <= first_ms, _HEIGHT, SLICES * STEP)


def _slice(number: int, counted: Counter[str], from_ms: int, highest: int) -> Slice:
    blocks, bottom = list[Block](), _HEIGHT
    for each in TONES:
        if counted[each]:
            height = max(4, counted[each] * _HEIGHT // highest)
            bottom = max(0, bottom - height)
            blocks.append(Block(each, counted[each], number * STEP, bottom, height))
    told = ", ".join(f"{counted[each]} {word}" for each, word in TONES.items() if counted[each]) or "nothing ended"
    return Slice(from_ms, from_ms + SLICE_MS, f"{stamp(from_ms)[11:16]}: {told}", blocks)
