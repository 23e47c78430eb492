"""What a work-horse started ends with it, and with its worker, however they end, while its attempt is under way.

The kernel kills the work-horse when its worker dies or its lease was not renewed in time, but not the processes that
the task started; those are in the work-horse's process group. Its worker may be gone, stopped, or waiting for a store
that does not answer, so somebody else has to kill that group. The guard is a child in a group of its own. It holds the
reading end of a pipe whose only writer is the worker: end of file means that the worker is gone. And it sees the
work-horse end.

What a failure leaves running is ended at once. What a success leaves running goes on, since it may be meant to: the
guard lets go of its group before such a work-horse ends.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator

from duly.common.process.roles import GIVE_UP
from duly.worker import guarding

log = logging.getLogger(__name__)

_NOBODY = b"0 0\n"


def kill_group(group: int) -> None:
    """Kill every process of the group; fine when there is none left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def end_children() -> None:
    """Kill what this work-horse started and is still in its group, orphans included, and leave only itself.

    Does nothing in a process that does not lead its group, whose group is somebody else's. Linux only: elsewhere
    processes that a task started are not looked for.
    """
    own = os.getpid()
    if os.getpgrp() != own or not os.path.isdir("/proc/self"):
        return
    while left := [pid for pid in _live_processes() if pid != own and _group_of(pid) == own]:
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _live_processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] not in "ZX":
                    yield int(name)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


class GroupGuard:
    """Guards the process group of one work-horse at a time. Raises OSError where no process can be had for it."""

    def __init__(self) -> None:
        self._guarded = _NOBODY
        self.pid, self._write = _start()

    def watch(self, group: int, *, to_its_end: bool) -> None:
        """From now on this group ends with the worker; ``to_its_end``: and with the process that leads it."""
        self._say(b"%d %d\n" % (group, to_its_end))

    def release(self) -> None:
        """The work-horse has ended, or may end and leave something running: there is no group to guard."""
        self._say(_NOBODY)

    def keep(self) -> None:
        """Have a guard that is alive: another takes the place of one that has ended."""
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                return
        log.warning("the guard of the work-horse ended; starting another", extra={"action": "guard_ended"})
        former = self._write
        self.pid, self._write = _start()
        os.close(former)
        self._say(self._guarded)

    def close(self) -> None:
        """In a work-horse: it must not hold the pipe that speaks for its worker."""
        os.close(self._write)

    def _say(self, what: bytes) -> None:
        self._guarded = what
        with contextlib.suppress(BrokenPipeError):  # it has ended; the next one, which `keep` starts, is told the same
            os.write(self._write, what)


def _start() -> tuple[int, int]:
    """A guard: its process id, and the end of the pipe that speaks to it."""
    read, write = os.pipe()
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", guarding.__file__],
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, read, 0)],
            setpgroup=0,
            setsigmask=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP, GIVE_UP],  # it ends with the worker, not before
        )
    except OSError:
        os.close(write)
        raise
    finally:
        os.close(read)
    return pid, write
