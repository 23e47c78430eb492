"""The final table, as lines of at most 80 columns."""

from __future__ import annotations

from duly.common.demo.tally import Row, Tally

_LEGEND = "due = enq'd + skip'd + drop'd; coal.: enqueued, then gave way to a newer tick"
_COLUMNS = (
    ("due", "due"),
    ("enqueued", "enq'd"),
    ("skipped", "skip'd"),
    ("dropped", "drop'd"),
    ("coalesced", "coal."),
    ("held", "held"),
    ("attempts", "att's"),
    ("effects", "eff's"),
    ("duplicates", "dupl."),
    ("vanished", "vanish'd"),
)


def table(tally: Tally) -> list[str]:
    """One line for each schedule under a line of headings, and what the headings mean."""
    lines = [f"{'schedule':<9}" + "".join(f"{short:>{_width(short)}}" for _, short in _COLUMNS)]
    return [*lines, *[_line(row) for row in tally.rows], _LEGEND]


def verdict(tally: Tally) -> list[str]:
    """What follows from the table: a line for each broken promise, or one that none was."""
    due = sum(row.due for row in tally.rows)
    attempts = sum(row.attempts for row in tally.rows)
    if tally.kept:
        return [
            f"Every one of {due} due ticks is on record; none of {attempts} attempts had an effect",
            "twice or without a lease. All promises kept.",
        ]
    return [f"BROKEN: {line}" for line in tally.broken]


def _line(row: Row) -> str:
    return f"{row.schedule_id:<9}" + "".join(f"{getattr(row, name):>{_width(short)}}" for name, short in _COLUMNS)


def _width(heading: str) -> int:
    return len(heading) + 1
