"""Names of things: schedules, occurrences, jobs, idempotency keys and tokens. Pure but for the token source."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import dataclass
from typing import Any

from duly.common.errors import InvalidField

SCHEDULE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
# Year 9999 in epoch milliseconds; nothing later has an RFC 3339 form.
LAST_TICK_MS = 253_402_300_799_999


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """The pair that identifies one unit of work. ``tick_ms``: epoch milliseconds, UTC."""

    schedule_id: str
    tick_ms: int

    def __str__(self) -> str:
        return f"{self.schedule_id}@{self.tick_ms}"

    @classmethod
    def parse(cls, text: str) -> Occurrence:
        """Read ``id@tick_ms``; raises InvalidField when it is anything else."""
        schedule_id, _, tick = text.rpartition("@")
        return cls(check_schedule_id(schedule_id), check_tick_ms(tick))


def check_schedule_id(value: object) -> str:
    """The value itself when it is a schedule id; raises InvalidField otherwise."""
    if isinstance(value, str) and SCHEDULE_ID.fullmatch(value):
        return value
    raise InvalidField(
        "schedule_id",
        "must be 1-64 characters of a-z, 0-9, '_' and '-', starting with a letter or digit",
    )


def check_tick_ms(value: object) -> int:
    """The tick in epoch milliseconds; raises InvalidField when the value is no such number."""
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) <= 15 and int(text) <= LAST_TICK_MS:
        return int(text)
    raise InvalidField("tick_ms", "must be an instant in epoch milliseconds, such as 1767225600000")


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, ASCII; raises ValueError on NaN and infinities."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def work_digest(task: str, args: list[Any], kwargs: dict[str, Any]) -> str:
    """16 hex digits over the canonical JSON of what the task would be called with."""
    return hashlib.sha256(canonical_json([task, args, kwargs]).encode()).hexdigest()[:16]


def idempotency_key(occurrence: Occurrence, digest: str) -> str:
    """``<schedule_id>@<tick_ms>:<16 hex>``: the same for every attempt and delivery of one occurrence."""
    return f"{occurrence}:{digest}"


def job_id(occurrence: Occurrence, attempt: int) -> str:
    """The RQ job that carries attempt number ``attempt``; RQ allows ``[A-Za-z0-9_-]+`` only."""
    return f"duly-{occurrence.schedule_id}-{occurrence.tick_ms}-{attempt}"


def new_token() -> str:
    """A fresh unguessable token for a lease or the duty (128 bits)."""
    return secrets.token_hex(16)


def stable_hash(text: str) -> int:
    """A 64-bit hash that is the same in every process and release."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
