"""The final table, as lines of at most 80 columns."""

from __future__ import annotations

from duly.common.demo.tally import Row, Tally

_LEGEND = (
    "due = enqueued + skipped + dropped; coalesced: enqueued, then gave way to a",
    "newer tick; doubled: an effect that happened twice; vanished: not on record",
)
# The heads stand on two lines in turns, so that each is a whole word and the table fits in 80 columns.
_FIRST = 8
_COLUMNS = (
    ("due", 6),
    ("enqueued", 9),
    ("skipped", 8),
    ("dropped", 8),
    ("coalesced", 7),
    ("held", 6),
    ("attempts", 8),
    ("effects", 8),
    ("duplicates", 6),
    ("vanished", 5),
)
_HEADS = {"duplicates": "doubled"}


def table(tally: Tally) -> list[str]:
    """One line for each schedule under two lines of headings, and what the headings mean."""
    return [*_headings(), *[_line(row) for row in tally.rows], *_LEGEND]


def verdict(tally: Tally) -> list[str]:
    """What follows from the table: a line for each broken promise, or one that none was."""
    due = sum(row.due for row in tally.rows)
    attempts = sum(row.attempts for row in tally.rows)
    if tally.kept:
        return [
            f"Every one of {due} due ticks is on record; none of {attempts} attempts had an effect",
            f"twice or without a lease; {tally.decisions} decisions, made again from the evidence kept",
            "with them, came out the same. All promises kept.",
        ]
    return [f"BROKEN: {line}" for line in tally.broken]


def _headings() -> list[str]:
    upper, lower, end = "", "schedule", _FIRST
    for at, (name, width) in enumerate(_COLUMNS):
        end += width
        head = _HEADS.get(name, name)
        if at % 2:
            upper = upper.ljust(end - len(head)) + head
        else:
            lower = lower.ljust(end - len(head)) + head
    return [upper, lower]


def _line(row: Row) -> str:
    return f"{row.schedule_id:<{_FIRST}}" + "".join(f"{getattr(row, name):>{width}}" for name, width in _COLUMNS)
