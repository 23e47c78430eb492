"""Transitions of a schedule put together as runs: one for each tick, with how long it took. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from duly.common.explain.words import transition
from duly.common.records.trail import RunEvent

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Run:
    """One tick's run. ``began_ms`` and ``took_ms`` are of its latest attempt; None where there was none."""

    tick_ms: int
    state: str
    attempt: int
    said: str
    at_ms: int
    began_ms: int | None
    took_ms: int | None
    going: bool
    worker: str | None
    fencing_token: int | None
    bar: int = 0
    """Its length beside the longest of the list, of `WIDTH`."""


def runs_of(
    events: Iterable[RunEvent], now_ms: int, limit: int, before_ms: int | None = None
) -> tuple[list[Run], int | None]:
    """The latest runs, the newest tick first, or the latest of ticks before one; ``events`` newest first.

    The second value is the tick before which the next page begins, None at the end.
    """
    by_tick: dict[int, list[RunEvent]] = {}
    for event in events:
        by_tick.setdefault(event.tick_ms, []).append(event)
    ticks = sorted((each for each in by_tick if before_ms is None or each < before_ms), reverse=True)
    runs = _with_bars([_run(tick_ms, by_tick[tick_ms], now_ms) for tick_ms in ticks[:limit]])
    return runs, ticks[limit - 1] if len(ticks) > limit else None


def _run(tick_ms: int, newest_first: Sequence[RunEvent], now_ms: int) -> Run:
    last = newest_first[0]
    at = next((n for n, event in enumerate(newest_first) if event.event == "began"), None)
    began = None if at is None else newest_first[at]
    ended = None if at is None else next((e for e in reversed(newest_first[:at]) if e.state != "RUNNING"), None)
    going = began is not None and ended is None
    took_ms = None
    if began is not None:
        took_ms = max(0, (now_ms if ended is None else ended.at_ms) - began.at_ms)
    by = next((event for event in newest_first if event.worker), None)
    return Run(
        tick_ms,
        last.state,
        last.attempt,
        transition(last),
        last.at_ms,
        None if began is None else began.at_ms,
        took_ms,
        going,
        None if by is None else by.worker,
        None if by is None else by.fencing_token,
    )


def _with_bars(runs: list[Run]) -> list[Run]:
    longest = max((run.took_ms or 0 for run in runs), default=0) or 1
    return [run if run.took_ms is None else replace(run, bar=max(1, run.took_ms * WIDTH // longest)) for run in runs]
