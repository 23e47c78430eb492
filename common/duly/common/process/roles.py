"""What a process of the fleet can be, found by name so that no plane is imported before it is wanted."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from duly.common.settings import Settings

GROUP = "duly.roles"
GIVE_UP = signal.SIGUSR2
"""What tells a process of the fleet, besides SIGTERM, to give up what it runs instead of finishing it."""


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """What one process is told besides the fleet's settings."""

    name: str
    """Unique in the fleet while the process runs; leases and the duty name their owner by it."""
    modules: tuple[str, ...] = ()
    """Modules that register tasks when they are imported."""
    queues: tuple[str, ...] = ("default",)
    burst: bool = False
    """End when there is nothing left to do."""
    allowed_functions: tuple[str, ...] = ()
    """Modules or functions that ordinary RQ jobs may name, besides those defined in ``modules``."""
    max_jobs: int = 1_000
    """How many attempts one work-horse makes before another takes its place; 1 forks for each."""
    max_memory_mb: int = 256
    """How much a work-horse may grow before another takes its place."""


Role = Callable[[Settings, RoleOptions], int]
"""Runs until SIGTERM or SIGINT (or until done, in a burst) and returns the process's exit code."""


def load_role(name: str) -> Role:
    """The role registered under ``name``; raises LookupError when the distribution has none of that name."""
    for entry in entry_points(group=GROUP, name=name):
        role: Role = entry.load()
        return role
    raise LookupError(f"no role '{name}' is installed")
