"""Contestants measured in turn, so that a machine's moods hit all of them alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


class Measured(Protocol):
    """What a benchmark returns: something to print in 80 columns, and the same as JSON."""

    def table(self) -> RenderableType: ...

    def to_dict(self) -> dict[str, Any]: ...


class Measurable(Protocol):
    """Anything that can take part in `compare`."""

    @property
    def name(self) -> str: ...

    def rate(self) -> float:
        """Units a second, of one round. Raises NotMeasured."""
        ...


class NotMeasured(Exception):
    """A contestant cannot take part, for the reason given; the others still do."""


@dataclass(frozen=True)
class Contestant:
    """``prepare`` makes everything ready; ``run`` is timed and returns how many units it did."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[], int]

    def rate(self) -> float:
        self.prepare()
        gc.collect()
        gc.freeze()  # as a process of its own would: what stands there already is not looked through again and again
        started = time.perf_counter()
        done = self.run()
        return done / (time.perf_counter() - started)


@dataclass
class Figures:
    """What was measured of one contestant, in the benchmark's unit: one value for each round."""

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


@dataclass(frozen=True)
class Goal:
    """A figure beside what is wanted of it. Nothing fails where it is missed: ``must`` and ``aim`` are words."""

    figure: str
    measured: float
    must: str
    aim: str


@dataclass
class Comparison:
    """Figures of all contestants of one benchmark; ratios are taken to ``reference``, and to those in ``also``.

    An empty ``reference`` is none: the figures stand for themselves.
    """

    title: str
    unit: str
    reference: str
    contestants: dict[str, Figures]
    also: Sequence[str] = ()
    goals: list[Goal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def references(self) -> list[str]:
        """Those that were measured: one that could not take part is no reference."""
        return [name for name in (self.reference, *self.also) if name in self.contestants]

    def ratio(self, name: str, to: str | None = None) -> float:
        """The median of the ratios of each round: what is measured shortly after one another had the same machine."""
        pairs = zip(self.contestants[name].rounds, self.contestants[to or self.reference].rounds, strict=True)
        return statistics.median(one / other for one, other in pairs)

    def want(self, figure: str, measured: float, must: str, aim: str = "") -> None:
        """Put a goal beside a figure."""
        self.goals.append(Goal(figure, measured, must, aim))

    def table(self) -> RenderableType:
        parts: list[RenderableType] = [self._figures()]
        parts += [goals_table(self.goals)] if self.goals else []
        parts += [Text(f"- {note}") for note in self.notes]
        return Group(*parts)

    def _figures(self) -> Table:
        made = Table(title=self.title, title_justify="left", title_style="bold")
        made.add_column("contestant", no_wrap=True)
        ratios = [f"x {name}".replace(", ", ",\n") for name in self.references]
        for heading in (f"median\n{self.unit}", "spread", *ratios):
            made.add_column(heading, justify="right", no_wrap=True)
        for name, figures in self.contestants.items():
            spread = f"{in_short(figures.low)}-{in_short(figures.high)}"
            to_each = (in_short(self.ratio(name, reference)) for reference in self.references)
            made.add_row(name, in_short(figures.median), spread, *to_each)
        return made

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "unit": self.unit,
            "reference": self.reference,
            "contestants": {name: self._contestant(name, figures) for name, figures in self.contestants.items()},
            "goals": [
                {"figure": goal.figure, "measured": goal.measured, "must": goal.must, "aim": goal.aim}
                for goal in self.goals
            ],
            "notes": self.notes,
        }

    def _contestant(self, name: str, figures: Figures) -> dict[str, Any]:
        made: dict[str, Any] = {"median": figures.median, "low": figures.low, "high": figures.high}
        made["rounds"] = figures.rounds
        if self.reference in self.contestants:
            made["ratio"] = self.ratio(name)
        made["ratios"] = {reference: self.ratio(name, reference) for reference in self.references}
        return made


def goals_table(goals: Sequence[Goal]) -> Table:
    """What was measured beside what is wanted."""
    made = Table()
    made.add_column("figure")
    for heading in ("measured", "must", "aim"):
        made.add_column(heading, justify="right")
    for goal in goals:
        made.add_row(goal.figure, in_short(goal.measured), goal.must, goal.aim)
    return made


def compare(
    title: str,
    unit: str,
    reference: str,
    contestants: Sequence[Measurable],
    rounds: int,
    also: Sequence[str] = (),
) -> Comparison:
    """Run every contestant once in each round, in turn. One that cannot take part is a note."""
    figures = {contestant.name: Figures() for contestant in contestants}
    notes: list[str] = []
    for _ in range(rounds):
        for contestant in contestants:
            if contestant.name not in figures:
                continue
            try:
                figures[contestant.name].rounds.append(contestant.rate())
            except NotMeasured as reason:
                del figures[contestant.name]
                notes.append(f"{contestant.name}: not measured: {reason}")
    return Comparison(title, unit, reference, figures, also, notes=notes)


def in_turn(subjects: dict[str, Callable[[], float]], rounds: int) -> dict[str, Figures]:
    """Figures of subjects that measure themselves, each once in every round."""
    figures = {name: Figures() for name in subjects}
    for _ in range(rounds):
        for name, measure in subjects.items():
            figures[name].rounds.append(measure())
    return figures


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: a value that was measured, not one in between. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    rank = -(-len(values) * percent // 100)
    return sorted(values)[max(int(rank), 1) - 1]


def in_short(value: float) -> str:
    """Three digits or more of a figure, so that small ones and large ones can stand in one column."""
    size = abs(value)
    places = 0 if size >= 100 else 1 if size >= 10 else 2
    return f"{value:,.{places}f}"
