"""Instants as people write them (RFC 3339) and as the store keeps them (epoch milliseconds). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from duly.common.errors import InvalidField
from duly.common.identity import LAST_TICK_MS

# The ranges of hours and of an offset's minutes are stated here, since `fromisoformat` takes more: `+05:60`, and
# in newer Pythons `24:00:00`.
_HOUR = r"([01]\d|2[0-3])"
_RFC3339 = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}[Tt ]{_HOUR}:\d{{2}}:\d{{2}}(\.\d{{1,9}})?([Zz]|[+-]{_HOUR}:[0-5]\d)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_ms(text: object, field: str) -> int:
    """Epoch milliseconds of an RFC 3339 instant with an offset; raises InvalidField naming ``field``."""
    if isinstance(text, str) and _RFC3339.fullmatch(text):
        try:
            moment = datetime.fromisoformat(text.upper().replace(" ", "T")).astimezone(UTC)
        except (ValueError, OverflowError):
            pass  # falls through to the one message there is
        else:
            delta = moment - _EPOCH
            if delta.days >= 0:
                return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000
    raise InvalidField(field, "must be an RFC 3339 instant with an offset since 1970, such as 2026-01-31T09:00:00Z")


def stored_ms(text: str) -> int:
    """The instant behind its epoch milliseconds in the store; raises ValueError for one without an RFC 3339 form."""
    ms = int(text)
    if not 0 <= ms <= LAST_TICK_MS:
        raise ValueError("no instant from 1970 to 9999")
    return ms


def to_datetime(ms: int) -> datetime:
    """The aware UTC datetime of an instant in epoch milliseconds."""
    seconds, rest = divmod(ms, 1000)
    return datetime.fromtimestamp(seconds, tz=UTC).replace(microsecond=rest * 1000)


def to_rfc3339(ms: int) -> str:
    """``2026-01-31T09:00:00Z``, with milliseconds only where there are any."""
    moment = to_datetime(ms)
    timespec = "milliseconds" if ms % 1000 else "seconds"
    return moment.isoformat(timespec=timespec).replace("+00:00", "Z")
