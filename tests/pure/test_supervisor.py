"""What the supervisor makes of a child that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from duly.common.process.roles import RoleOptions
from duly.common.process.supervisor import Supervisor, _Child
from duly.common.settings import Settings


def ended(end: Callable[[], object]) -> _Child:
    """A child that has ended in this way, and that nobody has waited for."""
    pid = os.fork()
    if pid == 0:
        end()
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return _Child(lambda *_: 0, RoleOptions("box.1"), pid)


def test_a_death_by_a_signal_without_a_name_is_told_like_any_other(caplog: pytest.LogCaptureFixture) -> None:
    number = signal.SIGRTMIN + 3
    child = ended(lambda: os.kill(os.getpid(), number))
    Supervisor(Settings(), [])._reap([child], restart=True)
    assert child.pid is None
    assert f"box.1 ended (killed by signal {number}); starting it again in " in caplog.text
