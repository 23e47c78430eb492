"""A child that must not outlive its parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when ``parent_pid`` ends; call it first thing after a fork.

    Without it the child of a killed worker would finish its effect as an orphan. Linux only: elsewhere an orphan
    lives until its lease's kernel timer ends it.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have ended before the request was made.
    if os.getppid() != parent_pid:
        os._exit(1)
