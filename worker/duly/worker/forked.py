"""A forked work-horse as its worker sees it: its channels, whether it is still there, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from dataclasses import dataclass

from duly.common.process import ending
from duly.worker.channel import Channel
from duly.worker.group_guard import kill_group

ENDS_WITHIN_MS = 2_000
"""How long a work-horse that is to end by itself may take."""


@dataclass(slots=True)
class ForkedHorse:
    """One process: ``pid``, the worker's ends of its channels, and the poll that waits for either or for its end."""

    pid: int
    work: Channel
    lease: Channel
    poll: select.poll
    resting: bool = True
    looks_back: bool = False
    """It was forked, or has answered, and has not said yet whether it can run an attempt."""
    ended: int = -1
    """A descriptor that is readable when the process has ended, whoever else has its channels open; -1 for none."""

    @classmethod
    def of(cls, pid: int, work: Channel, lease: Channel) -> ForkedHorse:
        """The child that was forked just now."""
        poll, ended = select.poll(), end_of(pid)
        for fd in (work.fileno(), lease.fileno(), ended):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        return cls(pid, work, lease, poll, looks_back=True, ended=ended)

    def says_something(self, wait_ms: int) -> bool:
        """Whether a message of its can be read within this time."""
        return any(fd == self.work.fileno() for fd, _ in self.poll.poll(wait_ms))

    def close(self) -> None:
        """Give up the channels: it sees that, and ends by itself when it rests."""
        for channel in (self.work, self.lease):
            channel.close()
        if self.ended >= 0:
            os.close(self.ended)
            self.ended = -1

    def end(self, *, by_force: bool) -> int | None:
        """Have it end, by itself if it can, and wait for that; its wait status."""
        self.close()
        if by_force or not ends_by_itself(self.pid):
            kill(self.pid)
        status = None
        with contextlib.suppress(ChildProcessError):
            _, status = os.waitpid(self.pid, 0)
        return status


def end_of(pid: int) -> int:
    """A descriptor that is readable when the process has ended; -1 where there is no such thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # Linux has it
        return -1


def kill(pid: int) -> None:
    """The work-horse and what it started."""
    kill_group(pid)
    with contextlib.suppress(ProcessLookupError):  # a task may have left the group
        os.kill(pid, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    """Whether a child has ended; it stays to be waited for."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def ends_by_itself(pid: int) -> bool:
    """Whether a child ends within a moment."""
    watched = end_of(pid)
    if watched < 0:
        return has_ended(pid)
    try:
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        return bool(poll.poll(ENDS_WITHIN_MS))
    finally:
        os.close(watched)


def how_it_ended(status: int | None) -> str:
    """A work-horse's wait status, in words for the log."""
    if status is None:
        return "it ended, and nobody saw how"
    if os.waitstatus_to_exitcode(status) == -signal.SIGALRM:
        return "its lease could not be renewed in time, and the lease's timer ended it"
    return ending.how_it_ended(status)
