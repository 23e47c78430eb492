"""Contestants measured in turn, so that a machine's moods hit all of them alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table


@dataclass(frozen=True)
class Contestant:
    """``prepare`` makes everything ready; ``run`` is timed and returns how many units it did."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[], int]


@dataclass
class Figures:
    """Units per second, or milliseconds for each unit: one value for each round."""

    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def low(self) -> float:
        return min(self.rounds)

    @property
    def high(self) -> float:
        return max(self.rounds)


@dataclass
class Comparison:
    """Figures of all contestants of one benchmark; ratios are taken to ``reference``."""

    title: str
    unit: str
    reference: str
    contestants: dict[str, Figures]

    def ratio(self, name: str) -> float:
        return self.contestants[name].median / self.contestants[self.reference].median

    def table(self) -> Table:
        made = Table(title=self.title, title_justify="left", title_style="bold")
        made.add_column("contestant")
        made.add_column(f"median {self.unit}", justify="right")
        made.add_column("spread", justify="right")
        made.add_column(f"x {self.reference}", justify="right")
        for name, figures in self.contestants.items():
            spread = f"{figures.low:,.0f}-{figures.high:,.0f}"
            made.add_row(name, f"{figures.median:,.0f}", spread, f"{self.ratio(name):.2f}")
        return made

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "unit": self.unit,
            "reference": self.reference,
            "contestants": {
                name: {"median": f.median, "low": f.low, "high": f.high, "rounds": f.rounds, "ratio": self.ratio(name)}
                for name, f in self.contestants.items()
            },
        }


def compare(title: str, unit: str, reference: str, contestants: list[Contestant], rounds: int) -> Comparison:
    """Run every contestant once in each round, in turn."""
    figures = {contestant.name: Figures() for contestant in contestants}
    for _ in range(rounds):
        for contestant in contestants:
            contestant.prepare()
            gc.collect()
            started = time.perf_counter()
            done = contestant.run()
            figures[contestant.name].rounds.append(done / (time.perf_counter() - started))
    return Comparison(title, unit, reference, figures)
