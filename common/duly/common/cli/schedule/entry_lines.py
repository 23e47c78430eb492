"""Entries of several lines each: names on the left, what goes with them in columns on the right.

Nothing in a column is broken or cut. A name that leaves no room for the columns has the whole width of its line, and
breaks at spaces where even that is too narrow.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from duly.common.explain.text import safe

_GAP = "  "
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Entry:
    """``names``: one line each. ``cells``: the columns, line by line; ``style`` is that of the first column."""

    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    style: str = ""


def entry_lines(title: str, titles: Sequence[str], entries: Sequence[Entry], width: int) -> Iterator[Text]:
    """A heading, and the lines of each entry."""
    rows = [titles, *[row for entry in entries for row in entry.cells]]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    names = [_line(title, 0), *[_line(name, at) for entry in entries for at, name in enumerate(entry.names)]]
    room = width - sum(widths) - len(_GAP) * len(widths)
    left = min(max(map(cell_len, names)), max(room, cell_len(title)))
    yield _joined(title, titles, left, widths, "bold", "bold")
    for entry in entries:
        rows = list(entry.cells)
        for at, name in enumerate(entry.names):
            line, style = _line(name, at), "bold" if at == 0 else "dim" if at > 1 else ""
            if cell_len(line) <= left:
                yield _joined(line, rows.pop(0) if rows else (), left, widths, style, entry.style)
            else:
                yield from (_text(each, style) for each in _folded(line, width))
        for row in rows:
            yield _joined("", row, left, widths, "", entry.style)


def _line(name: str, at: int) -> str:
    return safe(name) if at == 0 else f"{_INDENT}{safe(name)}"


def _folded(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=_INDENT * 2, break_on_hyphens=False, drop_whitespace=True)


def _joined(
    name: str, cells: Sequence[str], left: int, widths: Sequence[int], name_style: str, first_style: str
) -> Text:
    made = _text(_padded(name, left), name_style)
    for at, (cell, width) in enumerate(zip(cells, widths, strict=False)):
        made.append(f"{_GAP}{_padded(safe(cell), width)}", first_style if at == 0 or name_style == first_style else "")
    made.rstrip()
    return made


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _text(line: str, style: str) -> Text:
    made = Text(no_wrap=True, overflow="ignore")
    made.append(line, style)
    return made
