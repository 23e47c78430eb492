"""Facts of a case as they stand in a sentence: bounded, and harmless to a terminal."""

from __future__ import annotations

from duly.common.instant import to_rfc3339

from .case import Case

_LONGEST = 40


def shown(text: str) -> str:
    """The text itself, or its beginning; what is not printable is spelled out."""
    if len(text) <= _LONGEST and text.isprintable():
        return text
    start = text[: _LONGEST + 1]
    safe = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in start)
    return safe if len(safe) <= _LONGEST else f"{safe[:_LONGEST]}..."


def instant(ms: object) -> str:
    """``2026-01-31T09:00:00Z``."""
    if not isinstance(ms, int):
        return "an unknown instant"
    try:
        return to_rfc3339(ms)
    except (ValueError, OverflowError, OSError):  # beyond the year 9999, where RFC 3339 has no form
        return f"epoch + {ms} ms"


def called(case: Case) -> str:
    """``docs@2026-01-31T09:00:00Z``, as far as the case says."""
    job = shown(case.job_id) if isinstance(case.job_id, str) else "an unknown job"
    return f"{job}@{instant(case.occurrence_ms)}" if isinstance(case.occurrence_ms, int) else job


def listed(names: tuple[str, ...] | list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
