"""Tables and text for people: readable at 80 columns, plain when nobody's terminal is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from duly.common.explain.text import relative, safe
from duly.common.instant import to_rfc3339

WIDTH = 80

STYLES = {
    "active": "green",
    "paused": "yellow",
    "quarantined": "bold red",
    "HELD": "bold red",
    "SUCCEEDED": "green",
    "RUNNING": "cyan",
    "RETRY_WAIT": "yellow",
    "failed": "red",
    "fail": "bold red",
    "warn": "yellow",
    "ok": "green",
}


def console(*, err: bool = False) -> Console:
    """A console on the stream as it is now; no markup, no emoji codes and no colours unless it is a terminal."""
    return Console(file=sys.stderr if err else sys.stdout, markup=False, emoji=False, highlight=False)


def write(drawn: RenderableType) -> None:
    """Print on stdout; without the padding of tables where no terminal shows it."""
    out = console()
    if out.is_terminal:
        out.print(drawn)
        return
    with out.capture() as captured:
        out.print(drawn)
    click.echo("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()), nl=False)


def cell(value: object, style: str | None = None) -> Text:
    """Harmless text; words of state get their colour, None is a dash."""
    text = "-" if value is None or value == "" else safe(value)
    return Text(text, style=style or STYLES.get(text, ""))


def lines(*values: object) -> Text:
    """Harmless text of several lines; Nones are left out."""
    return Text("\n").join([cell(value) for value in values if value is not None])


def table(*columns: str, rows: Iterable[Sequence[object]]) -> Table:
    """A table whose cells fold rather than lose characters."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*[value if isinstance(value, Text) else cell(value) for value in row])
    return made


def facts(rows: Iterable[tuple[str, object]]) -> Table:
    """Names and values, two columns; rows without a value are left out."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value != "":
            made.add_row(cell(name), value if isinstance(value, Text) else cell(value))
    return made


def columns(rows: Iterable[Sequence[object]]) -> Table:
    """Values in columns without a heading; the last column folds."""
    made = Table.grid(padding=(0, 1))
    shown = [[value if isinstance(value, Text) else cell(value) for value in row] for row in rows]
    for at in range(max(map(len, shown), default=0)):
        last = at == len(shown[0]) - 1
        made.add_column(no_wrap=not last, overflow="fold")
    for row in shown:
        made.add_row(*row)
    return made


def stack(*parts: RenderableType | None) -> Group:
    """Parts one under the other; Nones are left out."""
    return Group(*[part for part in parts if part is not None])


def instant(ms: int | None, now_ms: int) -> str | None:
    """``2026-01-31T09:00:00Z (in 3 min)``."""
    return None if ms is None else f"{to_rfc3339(ms)} ({relative(ms, now_ms)})"


def command(*words: str) -> Text:
    """A command to copy, broken where a shell lets it continue so that it fits in 80 columns."""
    rows, row = list[str](), " "
    for word in words:
        # Two columns stay free for the continuation mark.
        if len(row) + 1 + len(word) > WIDTH - 2 and row.strip():
            rows.append(row)
            row = "   "
        row = f"{row} {word}"
    return Text(" \\\n".join([*map(safe, rows), safe(row)]), no_wrap=True, overflow="ignore")


def more(next_cursor: str | None, *words: str) -> RenderableType | None:
    """How to see the next page, when there is one."""
    return None if next_cursor is None else stack("", "more:", command(*words, "--cursor", next_cursor))
