"""What a work-horse started ends with its worker, however the worker ends, while its attempt is under way.

The kernel kills the work-horse when its worker dies, but not the processes that the task started; those are in
the work-horse's process group, and somebody must outlive the worker to kill that group. The guard is a small
child in a group of its own. It holds the reading end of a pipe whose only writer is the worker: end of file
means that the worker is gone.

What a failure leaves running is ended at once. What a success leaves running goes on, since it may be meant to: the
work-horse is not used again, and the guard lets go of its group.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

_NOBODY = b"0\n"


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
    """Guards the process group of one work-horse at a time."""

    def __init__(self) -> None:
        """Start the guard; call before the worker has threads."""
        read, self._write = os.pipe()
        if os.fork() == 0:
            os.close(self._write)
            _guard(read)
        os.close(read)

    def watch(self, group: int) -> None:
        """From now on this group ends with the worker."""
        os.write(self._write, b"%d\n" % group)

    def release(self) -> None:
        """The work-horse has ended; there is no group to guard."""
        os.write(self._write, _NOBODY)

    def close(self) -> None:
        """In a work-horse: it must not hold the pipe that speaks for its worker."""
        os.close(self._write)


# What `_guard` does below, by a process of a fraction of its memory.
_SHELL = "/bin/sh"
_SCRIPT = 'g=0; while read -r said; do g=$said; done; [ "$g" -gt 0 ] && kill -s KILL -- "-$g" 2>/dev/null'


def _guard(read: int) -> None:
    os.setpgid(0, 0)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # there are systems without a shell
        os.dup2(read, 0)
        os.execve(_SHELL, [_SHELL, "-c", _SCRIPT], {})
    group = 0
    while said := os.read(read, 4096):
        group = int(said.split()[-1])
    if group:
        kill_group(group)
    os._exit(0)
