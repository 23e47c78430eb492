"""`make bench`: how fast, always as a ratio to a reference measured in the same run.

Each benchmark interleaves its contestants on one fresh server, round by round, and reports the median and the
spread of each, and the ratio of medians. Nothing here is a test: no figure fails a build.

* ``dispatch``: ticks a second that become jobs, against `rq cron` and against the server's limit.
* ``executing``: jobs a second that one worker executes, against RQ's two workers.
* ``lists``: pages, lists and metrics of 10,000 schedules with 150,000 records, against 100 schedules with 1,500. A
  page that costs what it shows, and not what there is, has the ratio 1. A search that fits little looks through up to
  1,000 schedules, however many there are; in the small fleet there are only 100.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tests.benchmarks import dispatch, executing, lists
from tests.benchmarks.measuring import Comparison

BENCHMARKS: dict[str, Callable[[int, int], Comparison | lists.Scaling]] = {
    "dispatch": dispatch.measure,
    "executing": executing.measure,
    "lists": lists.measure,
}
OUT = Path(__file__).parent / "out"


@click.command()
@click.option("--only", type=click.Choice(sorted(BENCHMARKS)), help="One benchmark instead of all.")
@click.option("--rounds", default=5, show_default=True, help="Rounds of each contestant.")
@click.option("--size", default=10_000, show_default=True, help="Schedules.")
def main(only: str | None, rounds: int, size: int) -> None:
    """Measure, print a table, and write the figures to tests/benchmarks/out/NAME.json."""
    for name in [only] if only else sorted(BENCHMARKS):
        measured = BENCHMARKS[name](rounds, size)
        show(measured.table())
        OUT.mkdir(exist_ok=True)
        (OUT / f"{name}.json").write_text(json.dumps(measured.to_dict(), indent=2) + "\n")


def show(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else 80).print(table)


if __name__ == "__main__":
    main()
