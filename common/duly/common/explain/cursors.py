"""Cursors as users see them: opaque text that says of which list it is and where its next page begins."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass

from duly.common.errors import InvalidField
from duly.common.identity import SCHEDULE_ID
from duly.common.store import holds, searching

# Stream ids are two 64-bit numbers, and the store reads backwards from them: nothing lies before 0-0.
_STREAM = r"[1-9]\d{0,17}-\d{1,18}"
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursors of one kind of list. ``mark`` sets them apart from those of the others."""

    mark: str
    shape: re.Pattern[str]

    def encode(self, inner: str | None) -> str | None:
        """The opaque form of the store's cursor; None stays None."""
        if inner is None:
            return None
        return base64.urlsafe_b64encode(f"{self.mark} {inner}".encode()).decode().rstrip("=")

    def decode(self, cursor: str | None) -> str | None:
        """The store's cursor behind an opaque one; raises InvalidField for one that no page of such a list gave."""
        if cursor is None:
            return None
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            text = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            text = ""
        mark, _, inner = text.partition(" ")
        of_this_list = len(cursor) <= _LONGEST and mark == self.mark and self.shape.fullmatch(inner)
        if of_this_list and self.encode(inner) == cursor:  # no other spelling of the same place is taken
            return inner
        raise InvalidField("cursor", "is none that a page of this list gave")


SCHEDULES = Cursors("s", SCHEDULE_ID)
EVENTS = Cursors("e", re.compile(_STREAM, re.ASCII))
RUNS = Cursors("r", re.compile(_STREAM, re.ASCII))
CHANGES = Cursors("c", re.compile(_STREAM, re.ASCII))
HOLDS = Cursors("h", holds.PLACE)
FOUND = Cursors("f", searching.PLACE)
TICKS = Cursors("t", re.compile(r"\d{1,15}", re.ASCII))
