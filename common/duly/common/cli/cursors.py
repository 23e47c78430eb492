"""Cursors as users see them: opaque text around the cursor of the store's page."""

from __future__ import annotations

import base64
import binascii
import re

from duly.common.errors import InvalidField
from duly.common.identity import SCHEDULE_ID

SCHEDULE = SCHEDULE_ID
# Stream ids are two 64-bit numbers, and the store reads backwards from them: nothing lies before 0-0.
STREAM = re.compile(r"[1-9]\d{0,17}-\d{1,18}", re.ASCII)
OFFSET = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_LONGEST = 128


def encode(inner: str | int | None) -> str | None:
    """The opaque form of a cursor; None stays None."""
    if inner is None:
        return None
    return base64.urlsafe_b64encode(str(inner).encode()).decode().rstrip("=")


def decode(cursor: str | None, shape: re.Pattern[str]) -> str | None:
    """The store's cursor behind an opaque one; raises InvalidField when none of this list can look like it."""
    if cursor is None:
        return None
    try:
        inner = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        inner = ""
    if len(cursor) <= _LONGEST and shape.fullmatch(inner) and encode(inner) == cursor:
        return inner
    raise InvalidField("cursor", "is none that a page of this list gave")
