"""Kinds of values in a case file: how each is read, written back and described.

A reader takes any JSON value and never raises; what it cannot take is `UNREADABLE`. Nothing is converted that only
looks right: `true` and `1.0` are no integers, and an instant without an offset is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from duly.common.errors import InvalidField
from duly.common.instant import to_ms, to_rfc3339

from .case import UNREADABLE, BackoffState, Claim, Unreadable

MAX_TEXT: Final = 1_024
MAX_INTEGER: Final = 2**53
_UNCHANGED: Final[Callable[[Any], Any]] = lambda value: value  # noqa: E731 - a table entry, not a function to call


@dataclass(frozen=True, slots=True)
class Kind:
    """``read`` takes a JSON value, ``write`` turns what was read into JSON again, ``shape`` is its JSON Schema."""

    read: Callable[[object], Any]
    write: Callable[[Any], Any]
    shape: dict[str, Any]

    def or_null(self) -> Kind:
        """The same where null means something too; it is read as None."""
        return Kind(
            read=lambda value: None if value is None else self.read(value),
            write=lambda value: None if value is None else self.write(value),
            shape={"anyOf": [self.shape, {"type": "null"}]},
        )


def is_text(value: object) -> bool:
    """Whether a value names something: printable, neither blank nor longer than `MAX_TEXT`."""
    return isinstance(value, str) and 0 < len(value) <= MAX_TEXT and value.isprintable() and not value.isspace()


def _read_text(value: object) -> str | Unreadable:
    return value if isinstance(value, str) and is_text(value) else UNREADABLE


def _read_instant(value: object) -> int | Unreadable:
    try:
        return to_ms(value, "instant")
    except InvalidField:
        return UNREADABLE


def _read_backoff(value: object) -> BackoffState | Unreadable:
    if not isinstance(value, dict) or value.keys() != {"delay_ms", "not_before"}:
        return UNREADABLE
    delay_ms, not_before_ms = DURATION.read(value["delay_ms"]), _read_instant(value["not_before"])
    if delay_ms is UNREADABLE or not_before_ms is UNREADABLE:
        return UNREADABLE
    return BackoffState(delay_ms, not_before_ms)


def _write_backoff(state: BackoffState) -> dict[str, Any]:
    return {"delay_ms": state.delay_ms, "not_before": to_rfc3339(state.not_before_ms)}


def _read_claims(value: object) -> tuple[Claim, ...] | Unreadable:
    if not isinstance(value, list):
        return UNREADABLE
    claims: list[Claim] = []
    for each in value:
        claim = _read_claim(each)
        if claim is UNREADABLE:
            return UNREADABLE
        claims.append(claim)
    return tuple(claims)


def _read_claim(value: object) -> Claim | Unreadable:
    if not isinstance(value, dict) or value.keys() != {"lease_id", "lease_owner", "lease_expires_at"}:
        return UNREADABLE
    lease_id, owner = _read_text(value["lease_id"]), _read_text(value["lease_owner"])
    expires_ms = _read_instant(value["lease_expires_at"])
    if lease_id is UNREADABLE or owner is UNREADABLE or expires_ms is UNREADABLE:
        return UNREADABLE
    return Claim(lease_id, owner, expires_ms)


def _write_claims(claims: tuple[Claim, ...]) -> list[dict[str, Any]]:
    return [
        {
            "lease_id": claim.lease_id,
            "lease_owner": claim.lease_owner,
            "lease_expires_at": to_rfc3339(claim.expires_ms),
        }
        for claim in claims
    ]


def integer(lowest: int) -> Kind:
    """An integer from ``lowest`` to 2**53."""

    def read(value: object) -> int | Unreadable:
        right = isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= MAX_INTEGER
        return value if right and isinstance(value, int) else UNREADABLE

    return Kind(read, _UNCHANGED, {"type": "integer", "minimum": lowest, "maximum": MAX_INTEGER})


def word(*words: str) -> Kind:
    """One of some words; any other text is read too, and it is the gates that know it for what it is."""
    return Kind(_read_text, _UNCHANGED, {"enum": list(words)})


def text(pattern: str = r"\S", longest: int = MAX_TEXT) -> Kind:
    """Text that names something."""
    return Kind(_read_text, _UNCHANGED, {"type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern})


DURATION: Final = integer(0)
OFFSET: Final = integer(-MAX_INTEGER)
NUMBER: Final = integer(1)
_INSTANT_SHAPE: Final = {
    "type": "string",
    "format": "date-time",
    "pattern": r"^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$",
}
INSTANT: Final = Kind(_read_instant, to_rfc3339, _INSTANT_SHAPE)
BACKOFF: Final = Kind(
    _read_backoff,
    _write_backoff,
    {
        "type": "object",
        "properties": {"delay_ms": DURATION.shape, "not_before": _INSTANT_SHAPE},
        "required": ["delay_ms", "not_before"],
        "additionalProperties": False,
    },
)
CLAIMS: Final = Kind(
    _read_claims,
    _write_claims,
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "lease_id": text().shape,
                "lease_owner": text().shape,
                "lease_expires_at": _INSTANT_SHAPE,
            },
            "required": ["lease_id", "lease_owner", "lease_expires_at"],
            "additionalProperties": False,
        },
    },
)
