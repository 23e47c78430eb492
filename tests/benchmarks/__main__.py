"""`make bench`: how fast, always beside a reference or a peer measured in the same run.

Each benchmark interleaves its contestants on a fresh server of their own, round by round, and reports the median and
the spread of each, ratios of medians, and what is wanted of them. Nothing here is a test: no figure fails a build.

* ``dispatch``: ticks a second that become jobs, against the server's limit, `rq cron` and other schedulers.
* ``passes``: one look of the duty holder, with nothing due and with one schedule due, in PINGs.
* ``executing``: jobs a second that one worker executes, against RQ's two workers.
* ``lateness``: from a tick's instant to its job, against a timer and `rq cron`.
* ``memory``: what the duty holder takes, and a worker against RQ's.
* ``storage``: what a schedule takes in Redis, with all its trails full.
* ``expressions``: the next tick of a known expression, against croniter built anew.
* ``lists``: pages, lists and metrics of 10,000 schedules with 150,000 records, against 100 schedules with 1,500. A
  page that costs what it shows, and not what there is, has the ratio 1. A search that fits little looks through up to
  1,000 schedules, however many there are; in the small fleet there are only 100.
* ``growth``: all costs by the number of schedules, up to a million. Only when it is asked for: it takes long.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console, RenderableType

from tests.benchmarks import dispatch, executing, expressions, growth, lateness, lists, memory, passes, storage
from tests.benchmarks.measuring import Measured

BENCHMARKS: dict[str, Callable[[int, int], Measured]] = {
    "dispatch": dispatch.measure,
    "executing": executing.measure,
    "expressions": expressions.measure,
    "growth": growth.measure,
    "lateness": lateness.measure,
    "lists": lists.measure,
    "memory": memory.measure,
    "passes": passes.measure,
    "storage": storage.measure,
}
"""Each takes the number of rounds and a size; most often how many schedules there are."""
SIZE = 10_000
SIZES = {
    "dispatch": 100_000,
    "expressions": 20_000,
    "growth": growth.FULL,
    "lateness": 1_000,
    "memory": 100_000,
    "passes": 100_000,
}
"""Sizes of those that want another one than the usual."""
ONLY_WHEN_ASKED = {"growth"}
OUT = Path(__file__).parent / "out"


@click.command()
@click.option("--only", type=click.Choice(sorted(BENCHMARKS)), help="One benchmark instead of the usual ones.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds of each contestant.")
@click.option("--size", type=click.IntRange(1), help="Schedules, or what else it counts; each has its own default.")
def main(only: str | None, rounds: int, size: int | None) -> None:
    """Measure, print tables, and write the figures to tests/benchmarks/out/NAME.json."""
    for name in [only] if only else sorted(BENCHMARKS.keys() - ONLY_WHEN_ASKED):
        measured = BENCHMARKS[name](rounds, size or SIZES.get(name, SIZE))
        show(measured.table())
        OUT.mkdir(exist_ok=True)
        (OUT / f"{name}.json").write_text(json.dumps(measured.to_dict(), indent=2) + "\n")


def show(table: RenderableType) -> None:
    Console(width=None if sys.stdout.isatty() else 80).print(table, "")


if __name__ == "__main__":
    main()
