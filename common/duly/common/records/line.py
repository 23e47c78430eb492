"""Lines that people write into the record: notes, names, evidence. Pure."""

from __future__ import annotations

from duly.common.errors import InvalidField

MAX_NOTE = 500


def check_line(field: str, text: str, longest: int) -> str:
    """The text without surrounding space; raises InvalidField unless it is one printable line of 1-``longest``."""
    line = text.strip()
    if 1 <= len(line) <= longest and line.isprintable():
        return line
    raise InvalidField(field, f"must be one line of 1-{longest} printable characters")
