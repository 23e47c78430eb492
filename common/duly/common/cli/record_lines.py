"""Records of the past as one line each, whatever the width: it does not wrap, and is cut only with an ellipsis.

What does not fit into one line, as the fields of an edit, stands below it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from duly.common.explain.text import safe
from duly.common.instant import to_datetime

_GAP = 2
_NARROWEST = 8
_ELLIPSIS = "…"


class Lines:
    """Lays cells out in columns. ``flexible`` takes what the others leave; ``shrinkable`` ones give way to it."""

    def __init__(
        self,
        titles: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        width: int,
        flexible: int,
        shrinkable: Sequence[int] = (),
    ) -> None:
        self._titles = titles
        self._width = width
        self._flexible = flexible
        self._shrinkable = shrinkable
        self._widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
        self._shrink()

    def _shrink(self) -> None:
        too_wide = sum(self._widths) + _GAP * (len(self._widths) - 1) - self._width
        while too_wide > 0 and self._shrinkable:
            widest = max(self._shrinkable, key=lambda at: self._widths[at])
            if self._widths[widest] <= _NARROWEST:
                break
            self._widths[widest] -= 1
            too_wide -= 1

    def heading(self) -> Text:
        return self.line(self._titles, "bold")

    def below(self, text: str) -> Iterator[Text]:
        """More of a record, on lines of its own under its second column; none for an empty text."""
        indent = " " * (self._widths[0] + _GAP)
        for row in textwrap.wrap(safe(text), max(_NARROWEST, self._width - len(indent)), break_on_hyphens=False):
            yield Text(indent + row, style="dim", no_wrap=True, overflow="ignore")

    def line(self, cells: Sequence[str], style: str = "") -> Text:
        """One record; ``style`` colours the flexible cell, or all of a heading."""
        shown = [
            _without_middle(safe(cell), self._widths[at]) if at in self._shrinkable else safe(cell)
            for at, cell in enumerate(cells)
        ]
        widths = [max(width, cell_len(cell)) for width, cell in zip(self._widths, shown, strict=True)]
        others = sum(widths) - widths[self._flexible] + _GAP * (len(widths) - 1)
        widths[self._flexible] = min(self._widths[self._flexible], max(_NARROWEST, self._width - others))
        shown[self._flexible] = _without_end(shown[self._flexible], widths[self._flexible])
        made = Text(no_wrap=True, overflow="ignore")
        for at, (cell, width) in enumerate(zip(shown, widths, strict=True)):
            made.append(set_cell_size(cell, width), style if at == self._flexible or cells is self._titles else "")
            made.append(" " * _GAP)
        made.rstrip()
        return made


def _without_end(text: str, width: int) -> str:
    """The text, cut between words where that leaves most of it."""
    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, width - 1)
    at_word = kept.rstrip() if text[len(kept) : len(kept) + 1] == " " else kept.rpartition(" ")[0].rstrip(" :;,")
    return (at_word if cell_len(at_word) * 2 > width else kept) + _ELLIPSIS


def _without_middle(text: str, width: int) -> str:
    """The text without its middle: names differ at their ends."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    return set_cell_size(text, width - 1 - tail) + _ELLIPSIS + text[-tail:]


def day(ms: int) -> str:
    """``2026-01-31``, UTC."""
    return to_datetime(ms).strftime("%Y-%m-%d")


def moment(ms: int) -> str:
    """``09:00:00.125``: when something was recorded."""
    return to_datetime(ms).strftime("%H:%M:%S.") + f"{ms % 1000:03d}"


def tick(ms: int, day_of_ms: int) -> str:
    """``09:00:00``, with its date as far as that is not the date of ``day_of_ms``, its thousandths if it has any."""
    at, near = to_datetime(ms), to_datetime(day_of_ms)
    date = "" if at.date() == near.date() else "%m-%d " if at.year == near.year else "%Y-%m-%d "
    return at.strftime(f"{date}%H:%M:%S") + (f".{ms % 1000:03d}" if ms % 1000 else "")
