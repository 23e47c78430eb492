"""How a process ended, in words for the log."""

from __future__ import annotations

import os
import signal


def how_it_ended(status: int) -> str:
    """The words for any wait status: ``exit code 3``, ``killed by SIGKILL`` or ``killed by signal 37``."""
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"killed by {_name(-code)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"
