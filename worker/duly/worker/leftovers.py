"""What an attempt can leave behind for the next one in the same process, as far as it can be seen."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duly.common.process.roles import GIVE_UP

_OWN_SIGNALS = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, GIVE_UP)
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Leftovers:
    """Compares with how this process was when this was made."""

    def __init__(self, growth_mb: float) -> None:
        """``growth_mb``: how much more memory is no leftover."""
        self._growth_mb = growth_mb
        self._before = _Surroundings.now()
        self._environment = dict(_environment())
        self._memory = _Memory()

    def found(self) -> str:
        """The first thing that is not as it was; empty when there is none."""
        if _has_children():
            return "child processes"
        changed = self._before.changed(_Surroundings.now())
        if changed:
            return changed
        if _environment() != self._environment:
            return "environment"
        return "memory" if self._memory.grown_mb() > self._growth_mb else ""


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What a process can ask the system about itself at little cost."""

    directory: str
    umask: int
    handlers: tuple[Any, ...]
    blocked: frozenset[int]
    threads: int

    @classmethod
    def now(cls) -> _Surroundings:
        directory = ""
        with contextlib.suppress(OSError):
            directory = os.getcwd()
        umask = os.umask(0o077)
        os.umask(umask)
        return cls(
            directory,
            umask,
            tuple(map(signal.getsignal, _OWN_SIGNALS)),
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            threading.active_count(),
        )

    def changed(self, now: _Surroundings) -> str:
        """The first thing that is not as it was."""
        if now == self:
            return ""
        names = ("directory", "umask", "handlers", "blocked", "threads")
        return next((name for name in names if getattr(self, name) != getattr(now, name)), "")


def _has_children() -> bool:
    """Whether there is any child, also one that has ended and that nobody has waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _environment() -> Mapping[Any, Any]:
    """The environment; its own bytes where there are such, since decoding every name for every attempt is not cheap."""
    found: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
    return found


class _Memory:
    """What the process has grown by since this was made."""

    def __init__(self) -> None:
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        self._first_mb = self._now_mb()

    def grown_mb(self) -> float:
        """0 where the system does not say."""
        return self._now_mb() - self._first_mb

    def _now_mb(self) -> float:
        try:
            return int(os.pread(self._file, 128, 0).split()[1]) * _PAGE / 1e6
        except (OSError, IndexError, ValueError):
            return 0.0
