"""What benchmarks enqueue and run."""

from __future__ import annotations

import time

from duly.worker import task

NAPPING_S = 3_600.0


def work() -> None:
    """Nothing, as an ordinary RQ job."""


def nap() -> None:
    """Wait until the worker is stopped, as an ordinary RQ job."""
    time.sleep(NAPPING_S)


@task("bench.task", effects="idempotent")
def run() -> None:
    """Nothing, as a task of a schedule."""


@task("bench.nap", effects="idempotent")
def run_nap() -> None:
    """Wait until the worker is stopped, as a task of a schedule."""
    time.sleep(NAPPING_S)
