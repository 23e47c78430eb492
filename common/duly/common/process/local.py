"""Processes of this machine, started from this process: each a `duly` command that dies with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from duly.common.clock import Clock, SystemClock
from duly.common.process.parent import die_with_parent

# -P: a module in the working directory must not stand in for one of ours.
DULY = (sys.executable, "-P", "-c", "from duly.common.cli import main; main()")
"""The command line of this very installation."""
_POLL_S = 0.02


def _never() -> bool:
    return False


@dataclass
class LocalProcess:
    """One `duly` process; ``words`` are what follows `duly`. ``log`` takes its output; None leaves it on our stderr.

    Start it from the main thread: the kernel ties its life to the thread that started it.
    """

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    log: Path | None = None
    cwd: Path | None = None
    clock: Clock = field(default_factory=SystemClock)
    started_ms: float = 0.0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive else None

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.alive:
            return
        owner = os.getpid()
        self.started_ms = self.clock.monotonic_ms()
        output = os.dup(2) if self.log is None else os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = subprocess.Popen(
                [*DULY, *self.words],
                env=dict(self.environment),
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Of its own group, so that a terminal's Ctrl+C reaches only the owner.
                process_group=0,
                preexec_fn=lambda: die_with_parent(owner),  # noqa: PLW1509 - no other thread of ours holds a lock
            )
        finally:
            os.close(output)

    def terminate(self) -> None:
        """Ask it to stop: what runs is finished. Asked again, it is given up."""
        if self.alive and self._process is not None:
            self._process.terminate()

    def kill(self) -> int:
        """SIGKILL to the process and everything below it; how many processes that were."""
        if self._process is None or not self.alive:
            return 0
        below = descendants(self._process.pid)
        # The parent first: it would start its children again.
        self._process.kill()
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        return 1 + len(below)


def stop_all(
    processes: Sequence[LocalProcess],
    grace_ms: float,
    *,
    hurry: Callable[[], bool] = _never,
    clock: Clock | None = None,
) -> None:
    """Stop the processes, all at once; none of them, nor of those below them, is left when this returns.

    What runs may finish within ``grace_ms``, or until ``hurry`` says True; then it is given up, and what is
    still there some seconds later is killed.
    """
    clock = clock or SystemClock()
    for patience_ms, impatient in ((grace_ms, hurry), (5_000.0, _never)):
        for process in processes:
            process.terminate()
        give_up_ms = clock.monotonic_ms() + patience_ms
        while any(process.alive for process in processes):
            if clock.monotonic_ms() >= give_up_ms or impatient():
                break
            time.sleep(_POLL_S)
    for process in processes:
        process.kill()


def descendants(pid: int) -> list[int]:
    """The processes below ``pid``, parents before their children, as far as the system shows them."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found, layer = list[int](), [pid]
    while layer:
        layer = [child for parent in layer for child in children.get(parent, ())]
        found += layer
    return found


def _parents() -> list[tuple[int, int]]:
    """(process, its parent) for all processes: from /proc, else from `ps`."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False).stdout
        return [(int(line.split()[0]), int(line.split()[1])) for line in listed.splitlines()]
    pairs = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it ended meanwhile
                # The name in parentheses may hold anything; the parent is the second field after it.
                pairs.append((int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])))
    return pairs
