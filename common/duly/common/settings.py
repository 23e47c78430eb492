"""What can be set for the whole fleet. Every process of a fleet must be given the same values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from duly.common.errors import InvalidField

DEFAULT_PREFIX = "duly"
DEFAULT_REDIS_URL = "redis://127.0.0.1:6379/0"
SHORTEST_DUTY_MS = 500
"""A holder renews the duty several times in its time, and Redis may take a while to answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Fleet-wide settings; each is also the environment variable ``DULY_<NAME>``. Durations in milliseconds."""

    redis_url: str = DEFAULT_REDIS_URL
    prefix: str = DEFAULT_PREFIX
    """First part of every key of ours. With RQ's own RQ_KEY_PREFIX, fleets share a Redis without meeting."""
    retention_ms: int = 7 * 86_400_000
    """How long a terminal occurrence is kept."""
    duty_ttl_ms: int = 10_000
    """A dead duty holder is replaced within this time."""
    queue_limit: int = 100_000
    """A queue longer than this gets no new ticks."""
    redelivery_ms: int = 10_000
    """How long an undelivered occurrence may lie before the sweep looks whether its job still exists."""
    schedule_history: int = 200
    fleet_history: int = 10_000
    on_enqueue: tuple[str, ...] = ()
    """Enqueue hooks, each ``package.module:callable``."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read ``DULY_*``; raises InvalidField naming the variable that cannot be used."""
        source = os.environ if environ is None else environ
        values: dict[str, object] = {}
        for each in fields(cls):
            name = f"DULY_{each.name.upper()}"
            text = source.get(name)
            if text is None or text == "":
                continue
            values[each.name] = _convert(name, text, type(each.default))
        if values.get("prefix", DEFAULT_PREFIX) != DEFAULT_PREFIX and not source.get("RQ_KEY_PREFIX"):
            raise InvalidField("DULY_PREFIX", "goes with RQ_KEY_PREFIX: set both, or fleets meet on RQ's queues")
        return cls(**values)  # type: ignore[arg-type]


def _convert(name: str, text: str, kind: type) -> object:
    if kind is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if kind is not int:
        return text
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) > 0):
        raise InvalidField(name, "must be a whole number above 0")
    if name == "DULY_DUTY_TTL_MS" and int(text) < SHORTEST_DUTY_MS:
        raise InvalidField(name, f"must be at least {SHORTEST_DUTY_MS}, or no holder can keep the duty")
    return int(text)
