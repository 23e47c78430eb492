"""`make bench`: how fast, always as a ratio to a reference measured in the same run.

Each benchmark interleaves its contestants on one fresh server, round by round, and reports the median and the
spread of each, and the ratio of medians. Nothing here is a test: no figure fails a build.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from tests.benchmarks import dispatch, executing
from tests.benchmarks.measuring import Comparison

BENCHMARKS = {"dispatch": dispatch.measure, "executing": executing.measure}
OUT = Path(__file__).parent / "out"


@click.command()
@click.option("--only", type=click.Choice(sorted(BENCHMARKS)), help="One benchmark instead of all.")
@click.option("--rounds", default=5, show_default=True, help="Rounds of each contestant.")
@click.option("--size", default=10_000, show_default=True, help="Schedules that come due at once.")
def main(only: str | None, rounds: int, size: int) -> None:
    """Measure, print a table, and write the figures to tests/benchmarks/out/NAME.json."""
    for name in [only] if only else sorted(BENCHMARKS):
        comparison = BENCHMARKS[name](rounds, size)
        show(comparison)
        OUT.mkdir(exist_ok=True)
        (OUT / f"{name}.json").write_text(json.dumps(comparison.to_dict(), indent=2) + "\n")


def show(comparison: Comparison) -> None:
    table = Table(title=comparison.title, title_justify="left", title_style="bold")
    table.add_column("contestant")
    table.add_column(f"median {comparison.unit}", justify="right")
    table.add_column("spread", justify="right")
    table.add_column(f"x {comparison.reference}", justify="right")
    for name, figures in comparison.contestants.items():
        table.add_row(
            name,
            f"{figures.median:,.0f}",
            f"{figures.low:,.0f}-{figures.high:,.0f}",
            f"{comparison.ratio(name):.2f}",
        )
    Console(width=None if sys.stdout.isatty() else 80).print(table)


if __name__ == "__main__":
    main()
