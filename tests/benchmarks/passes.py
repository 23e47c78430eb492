"""What one look of the duty holder costs, in PINGs: with nothing due, and with one schedule due among many.

A large fleet and a hundredth of it are on one server, and every figure is taken of both in turn: the cost of what is
not due should not grow with it.
"""

from __future__ import annotations

import gc
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import redis

from duly.common.store import Store
from duly.scheduler.hooks import EnqueueContext, Hooks
from duly.scheduler.sweep import Sweep, Sweeper
from tests.benchmarks import processes
from tests.benchmarks.bulk import add_all, daily, make_due
from tests.benchmarks.measuring import Comparison, Figures

REPEATS = 40
"""Looks of each kind in a round, of which the median counts."""
_TOKEN = "bench"


@dataclass
class Looks:
    """A fleet whose schedules are known to its duty holder, and none of them due."""

    store: Store
    sweeper: Sweeper
    unused: Iterator[str]

    @classmethod
    def of(cls, url: str, prefix: str, size: int, repeats: int) -> Looks:
        """``size`` schedules, ``repeats`` of them to become due one after another."""
        store = Store.connect(processes.undisturbed(url, size, prefix=prefix))
        add_all(store, daily(size, f"{prefix}-"))
        store.sweeping.claim_duty(_TOKEN, _TOKEN, processes.LONG_MS)
        knowing = True
        sweeper = Sweeper(store, Hooks([lambda context: _vetoed(context, knowing)]))
        ids = [f"{prefix}-{number % size}" for number in range(min(repeats, size))]
        # Swept once without becoming an occurrence: their definitions are known, as they are of a fleet that runs.
        make_due(store, ids)
        while _swept(sweeper).more:
            pass
        knowing = False
        return cls(store, sweeper, iter(ids))

    def idle(self) -> None:
        done = _swept(self.sweeper)
        assert done.ticks == 0, f"{done.ticks} were due"

    def make_one_due(self) -> None:
        make_due(self.store, [next(self.unused)])

    def one_due(self) -> None:
        done = _swept(self.sweeper)
        assert done.ticks == 1, f"{done.ticks} were due instead of one"


def measure(rounds: int, size: int, repeats: int = REPEATS) -> Comparison:
    """On a server of its own; with ``size`` schedules and with a hundredth of them."""
    logging.disable(logging.INFO)
    # Each round has schedules of its own to become due, also in the small fleet, which may have to be larger for it.
    small_size = max(size // 100, rounds * repeats)
    with processes.server() as url:
        small = Looks.of(url, "small", small_size, rounds * repeats)
        large = Looks.of(url, "large", max(size, small_size), rounds * repeats)
        client = redis.Redis.from_url(url)
        subjects: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "PING": (_nothing, client.ping),
            f"nothing due of {small_size:,}": (_nothing, small.idle),
            f"nothing due of {size:,}": (_nothing, large.idle),
            f"one due of {small_size:,}": (small.make_one_due, small.one_due),
            f"one due of {size:,}": (large.make_one_due, large.one_due),
        }
        figures = {name: Figures() for name in subjects}
        for _ in range(rounds):
            for name, taken in _round(subjects, repeats).items():
                figures[name].rounds.append(statistics.median(taken))
    return _with_goals(figures)


def _with_goals(figures: dict[str, Figures]) -> Comparison:
    ping, idle_small, idle, one_small, one = figures
    made = Comparison("One look of the duty holder", "us", ping, figures)
    made.want(f"{idle}, in PINGs", made.ratio(idle), "3", "1.5")
    made.want(f"{idle} / {idle_small}", made.ratio(idle, idle_small), "1.3")
    made.want(f"{one}, in PINGs", made.ratio(one), "12", "6")
    made.want(f"{one} / {one_small}", made.ratio(one, one_small), "1.3")
    return made


def _round(
    subjects: dict[str, tuple[Callable[[], object], Callable[[], object]]], repeats: int
) -> dict[str, list[float]]:
    """Microseconds of each look, all kinds of them in turn; what makes it ready is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    gc.collect()
    for _ in range(repeats):
        for name, (prepare, look) in subjects.items():
            prepare()
            started = time.perf_counter()
            look()
            taken[name].append((time.perf_counter() - started) * 1e6)
    return taken


def _swept(sweeper: Sweeper) -> Sweep:
    done = sweeper.sweep_once(_TOKEN)
    assert done is not None, "the duty was lost"
    return done


def _vetoed(context: EnqueueContext, knowing: bool) -> bool | None:
    return False if knowing and context.phase == "before" else None


def _nothing() -> None:
    pass
