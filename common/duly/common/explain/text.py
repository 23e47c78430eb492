"""Text made harmless before it is shown. Pure."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

# Control, format (direction marks among them), surrogate and unassigned characters, and line separators.
_UNSAFE = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


def safe(text: object) -> str:
    """The text with every character that could steer a terminal, or mislead its reader, spelled out."""
    shown = str(text)
    return shown if shown.isascii() and shown.isprintable() else "".join(map(_shown, shown))


def one_line(text: object) -> str:
    """The text as one harmless line, runs of white space as one space."""
    return safe(" ".join(str(text).split()))


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSAFE else char


def count(number: int, noun: str) -> str:
    """``1 tick``, ``2 ticks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(ms: int) -> str:
    """A length of time in its two largest units: ``1 d 3 h``, ``5 min``, ``850 ms``."""
    if ms < 1000:
        return f"{ms} ms"
    rest, parts = ms // 1000, list[str]()
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, rest = divmod(rest, seconds)
        if amount:
            parts.append(f"{amount} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def relative(ms: int, now_ms: int) -> str:
    """``in 3 min`` or ``2 h ago``."""
    distance = ms - now_ms
    if abs(distance) < 1000:
        return "now"
    return f"in {duration(distance)}" if distance > 0 else f"{duration(-distance)} ago"


def close_to(typed: str, known: Iterable[str]) -> str:
    """``; did you mean 'docs'?``, or nothing when no known name is close to what was typed."""
    near = difflib.get_close_matches(typed[:200], list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""
