"""What the log says of how a process ended."""

from __future__ import annotations

import os
import signal

import pytest

from duly.common.process.ending import how_it_ended


@pytest.mark.parametrize(
    ("status", "words"),
    [(0, "exit code 0"), (3 << 8, "exit code 3"), (signal.SIGKILL, "killed by SIGKILL"), (37, "killed by signal 37")],
)
def test_it_is_said_how_a_process_ended(status: int, words: str) -> None:
    assert how_it_ended(status) == words


def test_there_are_words_for_a_death_by_every_signal() -> None:
    for number in range(1, signal.NSIG):
        assert how_it_ended(number).startswith("killed by "), number


def test_a_real_death_by_a_signal_without_a_name_is_told_by_its_number() -> None:
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGRTMIN + 3)
        os._exit(0)
    assert how_it_ended(os.waitpid(pid, 0)[1]) == f"killed by signal {signal.SIGRTMIN + 3}"
