"""The supervisor: one parent process that keeps the roles of a container running and stops them together.

It holds no connection and decides nothing about schedules. Children die with it (the kernel sees to that), a
child that ends by itself is started again after a growing wait (in a burst it has done its part), and SIGTERM or
SIGINT is passed on as SIGTERM: children finish what they are doing, however often they hear it (an init system may
send it to every process). A second signal to the supervisor a second later, or the end of the grace, makes them give
it up.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from duly.common.clock import Clock, SystemClock
from duly.common.process.ending import how_it_ended
from duly.common.process.parent import die_with_parent
from duly.common.process.restarts import Restarts
from duly.common.process.roles import GIVE_UP, Role, RoleOptions
from duly.common.settings import Settings

log = logging.getLogger(__name__)

ECHO_MS = 1_000.0
"""A second signal within this time is taken for an echo of the first: terminals and `timeout` send two."""
_STOPS = frozenset({signal.SIGTERM, signal.SIGINT})
_SIGNALS = (*_STOPS, signal.SIGCHLD)
_BY_SIGNAL = 128
"""What a shell adds to the number of a signal to tell it from an exit code."""


@dataclass
class _Child:
    role: Role
    options: RoleOptions
    pid: int | None = None
    started_ms: float = 0.0
    restarts: Restarts = field(default_factory=Restarts)
    restart_at_ms: float = 0.0
    status: int | None = None
    """The wait status of its end, when it is not to be started again."""

    @property
    def is_to_start(self) -> bool:
        return self.pid is None and self.status is None

    @property
    def exit_code(self) -> int:
        code = os.waitstatus_to_exitcode(self.status or 0)
        return code if code >= 0 else _BY_SIGNAL - code


@dataclass
class Supervisor:
    """Runs ``(role, options)`` pairs as children until told to stop.

    ``grace_ms``: how long children may take to finish after the first signal; None waits for as long as their
    attempts take, which the time-outs of the schedules bound.
    """

    settings: Settings
    roles: Sequence[tuple[Role, RoleOptions]]
    grace_ms: float | None = None
    clock: Clock = field(default_factory=SystemClock)

    def run(self) -> int:
        """Start all children, keep them running, return 0 after a clean stop."""
        children = [_Child(role, options) for role, options in self.roles]
        with _SignalPipe() as signals:
            self._look_after(children, signals, restart=True)
            self._stop(children, signals)
        return 0

    def run_burst(self) -> int:
        """Run the roles to their end, one after another and those of one kind together; the first bad exit code.

        A signal stops it as it stops `run`, and starts nothing further: 128 and the signal's number, since what was
        to be done may not all be done.
        """
        with _SignalPipe() as signals:
            for _, group in groupby(self.roles, key=itemgetter(0)):
                children = [_Child(role, options) for role, options in group]
                stopped_by = self._look_after(children, signals, restart=False)
                if stopped_by:
                    self._stop(children, signals)
                    return _BY_SIGNAL + stopped_by
                bad = [child for child in children if child.exit_code]
                for child in bad:
                    log.error("%s ended (%s)", child.options.name, how_it_ended(child.status or 0))
                if bad:
                    return bad[0].exit_code
        return 0

    def _look_after(self, children: list[_Child], signals: _SignalPipe, *, restart: bool) -> int:
        """Until a signal asks for a stop: its number; 0 when all have ended, and none is to be started again."""
        while any(child.pid or child.is_to_start for child in children):
            received = signals.wait(self._until_a_start_ms(children))
            self._reap(children, restart=restart)
            if asked := received & _STOPS:
                return min(asked)
            now_ms = self.clock.monotonic_ms()
            for child in children:
                if child.is_to_start and child.restart_at_ms <= now_ms:
                    self._start_if_possible(child)
        return 0

    def _until_a_start_ms(self, children: list[_Child]) -> float | None:
        starts = [child.restart_at_ms for child in children if child.is_to_start]
        return max(0.0, min(starts) - self.clock.monotonic_ms()) if starts else None

    def _stop(self, children: list[_Child], signals: _SignalPipe) -> None:
        log.info("stopping: what runs is finished; stop again to give it up", extra={"action": "stop"})
        self._signal(children, signal.SIGTERM)
        asked_ms = self.clock.monotonic_ms()
        give_up_at = None if self.grace_ms is None else asked_ms + self.grace_ms
        while any(child.pid for child in children):
            left = None if give_up_at is None else give_up_at - self.clock.monotonic_ms()
            received = signals.wait(left)
            self._reap(children, restart=False)
            now_ms = self.clock.monotonic_ms()
            expired = give_up_at is not None and now_ms >= give_up_at
            again = bool(received & _STOPS) and now_ms - asked_ms >= ECHO_MS
            if (again or expired) and any(child.pid for child in children):
                log.warning("giving up what runs", extra={"action": "stop_now"})
                self._signal(children, GIVE_UP)
                give_up_at = None

    def _start_if_possible(self, child: _Child) -> None:
        try:
            self._start(child)
        except OSError as error:  # a full machine may have room again, and the other children go on
            self._start_again_later(child, f"could not be started: {error.strerror}")

    def _start(self, child: _Child) -> None:
        parent, child.started_ms = os.getpid(), self.clock.monotonic_ms()
        # What is there now is never collected, so that no collector writes into the pages that parent and child share.
        gc.freeze()
        # Until the child has let go of our handlers, they would take a signal to the child for one to us.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                os._exit(self._run_child(child, parent, before))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        child.pid = pid

    def _run_child(self, child: _Child, parent: int, mask: set[int]) -> int:
        try:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.set_wakeup_fd(-1)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            die_with_parent(parent)
            # A terminal's Ctrl+C reaches the whole group; only the supervisor answers it.
            os.setpgid(0, 0)
            return child.role(self.settings, child.options)
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else 0
        except BaseException as error:  # noqa: BLE001 - the end of a forked child; nothing above could report it
            frames = "".join(traceback.format_tb(error.__traceback__))
            log.critical("%s ended by %s\n%s", child.options.name, type(error).__name__, frames)
            return 1

    def _reap(self, children: list[_Child], *, restart: bool) -> None:
        for child in children:
            if child.pid is None:
                continue
            ended, status = os.waitpid(child.pid, os.WNOHANG)
            if ended == 0:
                continue
            child.pid = None
            if restart:
                self._start_again_later(child, f"ended ({how_it_ended(status)})")
            else:
                child.status = status

    def _start_again_later(self, child: _Child, why: str) -> None:
        now_ms = self.clock.monotonic_ms()
        wait_ms = child.restarts.ended(now_ms, child.started_ms)
        child.restart_at_ms = now_ms + wait_ms
        said = "%s %s; starting it again in %d ms"
        log.warning(said, child.options.name, why, wait_ms, extra={"action": "restart"})

    @staticmethod
    def _signal(children: list[_Child], number: int) -> None:
        for child in children:
            if child.pid is not None:
                os.kill(child.pid, number)


class _SignalPipe:
    """Signals as bytes on a pipe, so that waiting for one has no race and no polling."""

    def __enter__(self) -> _SignalPipe:
        self._read, write = os.pipe()
        self._write = write
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        self._previous_fd = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._previous = {each: signal.signal(each, lambda *_: None) for each in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._previous_fd)
        os.close(self._read)
        os.close(self._write)

    def wait(self, timeout_ms: float | None) -> set[int]:
        """Wait for signals, or until the time is over; the numbers of those that came."""
        seconds = None if timeout_ms is None else max(timeout_ms, 0.0) / 1000
        ready, _, _ = select.select([self._read], [], [], seconds)
        return set(os.read(self._read, 512)) if ready else set()
