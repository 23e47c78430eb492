"""The operating system that the simulated processes see: timers, signals, threads, sleeping, and fresh tokens.

The lease keeper of the worker runs as it is. Its kernel timer ends the simulated process, its thread is one more
actor of that process, and the signal of its time-out is delivered when the main actor next has the baton.
"""

from __future__ import annotations

import signal as real_signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from duly.scheduler import service
from duly.worker import attempt, horse, keeping, lease_keeper, performing, rounds, stable
from tests.simulator.stage import Actor, Process, Stage
from tests.simulator.stalls import simulated_horses


class SimulatedClock:
    """The local monotonic clock of every process."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def monotonic_ms(self) -> float:
        return float(self._stage.now_ms)


class _Event:
    def __init__(self, stage: Stage) -> None:
        self._stage, self._set = stage, False

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def wait(self, seconds: float | None) -> bool:
        if not self._set:
            self._stage.sleep(1e12 if seconds is None else seconds * 1000, lambda: self._set)
        return self._set


class _Lock:
    def __init__(self, stage: Stage) -> None:
        self._stage, self._held = stage, False

    def __enter__(self) -> None:
        while self._held:
            self._stage.sleep(1e12, lambda: not self._held)
        self._held = True

    def __exit__(self, *_: object) -> None:
        self._held = False


class _Thread:
    def __init__(self, stage: Stage, target: Callable[[], None], name: str) -> None:
        self._stage, self._target, self._name = stage, target, name
        self._actor: Actor | None = None

    def start(self) -> None:
        assert self._stage.current is not None
        process = self._stage.current.process
        self._actor = self._stage.spawn(process, f"{process.name} {self._name}", self._target)

    def join(self) -> None:
        actor = self._actor
        assert actor is not None
        while not actor.ended:
            self._stage.sleep(1e12, lambda: actor.ended)


@contextmanager
def simulated(stage: Stage, token: Callable[[], str], fenced: Callable[[Process], None]) -> Iterator[None]:
    """Inside the block the worker and the scheduler run on the stage."""

    def process() -> Process:
        assert stage.current is not None
        return stage.current.process

    def set_timer(_which: int, seconds: float) -> None:
        process().fence_ms = stage.now_ms + seconds * 1000 if seconds else None
        fenced(process())

    def send_signal(_thread: object, number: int) -> None:
        process().pending = number

    def handle(number: int, handler: Any) -> None:
        process().signals[number] = handler

    signals = SimpleNamespace(
        **{name: getattr(real_signal, name) for name in ("SIGALRM", "SIGVTALRM", "SIG_DFL", "ITIMER_REAL", "SIGKILL")},
        signal=handle,
        setitimer=set_timer,
        pthread_kill=send_signal,
    )
    threads = SimpleNamespace(
        Event=lambda: _Event(stage),
        Lock=lambda: _Lock(stage),
        Thread=lambda target, name, daemon: _Thread(stage, target, name),
        get_ident=lambda: 0,
    )
    with ExitStack() as patches:
        for module, name, value in (
            (lease_keeper, "signal", signals),
            (lease_keeper, "threading", threads),
            (lease_keeper, "SystemClock", lambda: SimulatedClock(stage)),
            (stable, "SystemClock", lambda: SimulatedClock(stage)),
            (keeping, "threading", threads),
            (keeping, "SystemClock", lambda: SimulatedClock(stage)),
            (horse, "end_process_group", lambda: _kill(stage)),
            (lease_keeper, "end_process_group", lambda: _kill(stage)),
            (performing, "end_children", lambda: None),
            (attempt, "time", SimpleNamespace(sleep=lambda seconds: stage.sleep(seconds * 1000))),
            (attempt, "new_token", token),
            (rounds, "new_token", token),
            (service, "new_token", token),
        ):
            patches.enter_context(patch.object(module, name, value))
        patches.enter_context(simulated_horses(stage))
        yield


def _kill(stage: Stage) -> None:
    assert stage.current is not None
    stage.current.process.die("it ends itself: its lease is lost")
    stage.point()
