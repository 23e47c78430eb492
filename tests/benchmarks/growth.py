"""How each cost grows with the number of schedules: from a thousand to a hundred thousand, and some to a million.

A run of the full size is kept beside this file, as a page and a chart (`growth.md`, `growth.svg`); a smaller one among
the other figures, in `out`.
"""

from __future__ import annotations

import logging
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from duly.common.store import Store
from duly.scheduler.sweep import PAGE, Sweeper
from tests.benchmarks import lateness, memory, processes
from tests.benchmarks.bulk import add_all, daily, make_due
from tests.benchmarks.measuring import Figures, in_short, percentile
from tests.benchmarks.storage import used_bytes
from tests.benchmarks.svg import Panel, chart, in_thousands

HERE = Path(__file__).parent
FULL = 1_000_000
LOOKS = 40
KIB_NEEDED = 9
"""Memory that has to be free for each schedule, of which the server takes about 6; and a gigabyte to spare."""
LATENESS_MS = 10_000
DISPATCH = "dispatch of all when all are due"
SWEEP = "one sweep when all are due"
IDLE = "look with nothing due"
REDIS = "Redis memory"
LATE = "lateness p99"
HOLDER = "duty holder"
UNITS = {DISPATCH: "us/tick", SWEEP: "us/tick", IDLE: "us", REDIS: "MB", LATE: "ms", HOLDER: "MB"}


@dataclass
class Growth:
    """For each subject, figures by the number of schedules; the largest number has some of the subjects only."""

    sizes: list[int]
    subjects: dict[str, dict[int, Figures]] = field(default_factory=lambda: {name: {} for name in UNITS})
    notes: list[str] = field(default_factory=list)

    def put(self, subject: str, size: int, value: float) -> None:
        self.subjects[subject].setdefault(size, Figures()).rounds.append(value)

    def cells(self, subject: str) -> list[str]:
        found = self.subjects[subject]
        return [in_short(found[size].median) if size in found else "" for size in self.sizes]

    def table(self) -> RenderableType:
        made = Table(title="Growth with the number of schedules", title_justify="left", title_style="bold")
        made.add_column("cost")
        for size in self.sizes:
            made.add_column(in_thousands(size), justify="right")
        for subject, unit in UNITS.items():
            made.add_row(f"{subject}, {unit}", *self.cells(subject))
        return Group(made, *(Text(f"- {note}") for note in self.notes))

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": "Growth with the number of schedules",
            "sizes": self.sizes,
            "subjects": {
                subject: {
                    "unit": UNITS[subject],
                    "by_size": {str(size): _as_dict(figures) for size, figures in found.items()},
                }
                for subject, found in self.subjects.items()
            },
            "notes": self.notes,
        }

    def page(self) -> str:
        """The same in Markdown."""
        head = ["cost", *map(in_thousands, self.sizes)]
        rows = [head, ["---", *("---:" for _ in self.sizes)]]
        rows += [[f"{subject}, {unit}", *self.cells(subject)] for subject, unit in UNITS.items()]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join(["# Growth with the number of schedules", "", *lines, "", *notes, "", _SVG_LINE, ""])

    def svg(self) -> str:
        panels = [
            Panel(subject, UNITS[subject], [(size, found[size].median) for size in self.sizes if size in found])
            for subject, found in self.subjects.items()
        ]
        return chart([panel for panel in panels if panel.points])

    def write(self, folder: Path) -> None:
        """The page and the chart, into a folder that is there or is made."""
        folder.mkdir(exist_ok=True)
        (folder / "growth.md").write_text(self.page())
        (folder / "growth.svg").write_text(self.svg())


_SVG_LINE = "![The same figures as lines](growth.svg)"


def measure(rounds: int, size: int) -> Growth:
    """``size`` is the largest number of schedules; below it stand a tenth, a hundredth and a thousandth."""
    logging.disable(logging.INFO)
    *smaller, largest = sorted({max(size // part, 1) for part in (1000, 100, 10, 1)})
    made = Growth([*smaller, largest])
    with processes.server() as url:
        for _ in range(rounds):
            for each in smaller:
                _put_all(made, each, fleet(url, each, whole=True))
                made.put(LATE, each, percentile(lateness.duly_ms(url, each, LATENESS_MS), 99))
                made.put(HOLDER, each, memory.holder_mb(url, each))
        if (reason := too_large(largest, processes.available_gb())) is None:
            _put_all(made, largest, fleet(url, largest, whole=False))
        else:
            made.notes.append(reason)
    made.notes += _circumstances(rounds, largest)
    made.write(HERE if size == FULL else HERE / "out")
    return made


def too_large(size: int, available_gb: float) -> str | None:
    """Why this machine cannot hold so many schedules at the moment; None when it can."""
    needed_gb = size * KIB_NEEDED * 1024 / 1e9 + 1
    if available_gb >= needed_gb:
        return None
    return f"{in_thousands(size)} not measured: {needed_gb:.1f} GB have to be free, and {available_gb:.1f} GB are"


def fleet(url: str, size: int, *, whole: bool) -> dict[str, float]:
    """Costs of a fleet of this size that is written anew; with ``whole``, all of it becomes due and is dispatched."""
    store = Store.connect(processes.undisturbed(url, size))
    processes.empty(url)
    before = _used_mb(store)
    add_all(store, daily(size))
    found = {REDIS: _used_mb(store) - before}
    store.sweeping.claim_duty("bench", "bench", processes.LONG_MS)
    sweeper = Sweeper(store)
    found[IDLE] = statistics.median(_timed_us(lambda: _sweep(sweeper)) for _ in range(LOOKS))
    make_due(store)
    ticks, spent_us, more = 0, 0.0, True
    while more:
        started = time.perf_counter()
        done, more = _sweep(sweeper)
        spent_us += (time.perf_counter() - started) * 1e6
        ticks += done
        found.setdefault(SWEEP, spent_us / max(done, 1))
        if not whole:
            return found
    found[DISPATCH] = spent_us / max(ticks, 1)
    return found


def _sweep(sweeper: Sweeper) -> tuple[int, bool]:
    done = sweeper.sweep_once("bench")
    assert done is not None, "the duty was lost"
    return done.ticks, done.more


def _timed_us(look: Callable[[], object]) -> float:
    started = time.perf_counter()
    look()
    return (time.perf_counter() - started) * 1e6


def _used_mb(store: Store) -> float:
    return used_bytes(store) / 1e6


def _put_all(made: Growth, size: int, found: dict[str, float]) -> None:
    for subject, value in found.items():
        made.put(subject, size, value)


def _as_dict(figures: Figures) -> dict[str, Any]:
    return {"median": figures.median, "low": figures.low, "high": figures.high, "rounds": figures.rounds}


def _circumstances(rounds: int, largest: int) -> list[str]:
    return [
        f"medians of {rounds} rounds; {in_thousands(largest)} once, for what it takes in Redis and one sweep",
        f"definitions are read anew when they are dispatched; one sweep takes {PAGE} schedules",
        "Redis memory is that of new schedules, whose trails are empty",
        f"Python {platform.python_version()}, {os.cpu_count()} cores, one server without persistence",
    ]
