"""Processes by their ids, as the kernel sees them, and waiting for what they do."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from duly.common.errors import StoreUnavailable

DEADLINE_S = 30.0
_POLL_S = 0.02
_Found = TypeVar("_Found")


def wait_until(
    condition: Callable[[], _Found], what: str, deadline_s: float = DEADLINE_S, *, outage: bool = False
) -> _Found:
    """The condition's first true value; fails with ``what`` after the deadline.

    ``outage``: a store that cannot be reached counts as not yet.
    """
    end = time.monotonic() + deadline_s
    while True:
        found: _Found | None = None
        try:
            found = condition()
        except StoreUnavailable:
            if not outage:
                raise
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s:g} s: {what}")
        time.sleep(_POLL_S)


def wall_ms() -> float:
    """The machine's clock, which servers and tasks of these tests read too."""
    return time.time_ns() / 1e6


def alive(pid: int) -> bool:
    """Whether the process exists and can still run: a zombie cannot."""
    return _stat(pid)[0] not in {"", "Z", "X"}


def stopped(pid: int) -> bool:
    """Whether a SIGSTOP has taken effect."""
    return _stat(pid)[0] == "T"


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, parents before their children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_stat(int(entry.name))[1], []).append(int(entry.name))
    found = [pid]
    for each in found:
        found.extend(sorted(children.get(each, [])))
    return found[1:]


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that has ended is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def stop_tree(pid: int) -> list[int]:
    """SIGSTOP a process and everything below it, also what is forked meanwhile; the ids, parents first."""

    def stop_all() -> list[int]:
        found = [each for each in [pid, *descendants(pid)] if alive(each)]
        for each in found:
            send(each, signal.SIGSTOP)
        return found if all(stopped(each) for each in found) else []

    return wait_until(stop_all, f"everything below {pid} stopped")


def _stat(pid: int) -> tuple[str, int]:
    """State letter and parent; an empty letter when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return "", 0
    state, parent, *_ = text.rpartition(")")[2].split()
    return state, int(parent)
