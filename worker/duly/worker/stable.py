"""The worker's side of its work-horse: forking it, asking it, and seeing it end."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import random
import signal
from collections.abc import Callable
from typing import Any

from duly.common.clock import SystemClock
from duly.common.process.parent import die_with_parent
from duly.common.process.roles import GIVE_UP
from duly.worker import forked
from duly.worker.channel import Channel, ChannelBroken
from duly.worker.forked import ForkedHorse
from duly.worker.group_guard import GroupGuard
from duly.worker.horse import Limits, serve

log = logging.getLogger(__name__)

_FIRST_LOOK_MS, _LATER_LOOKS_MS = 500, 10_000
_HELD_BACK = (signal.SIGTERM, signal.SIGINT, GIVE_UP)
_LEAVING_AT_A_TIME = 4


class HorseDied(Exception):
    """The work-horse ended, or was ended, without an answer: whatever it ran has no known outcome."""

    def __init__(self, status: int | None) -> None:
        super().__init__(forked.how_it_ended(status))
        self.status = status


class NoHorse(Exception):
    """No work-horse can be had now; whatever it was for has not begun, and may be tried again."""


class Stable:
    """Keeps one work-horse. ``as_horse`` is called in each new one, before anything else of ours.

    Where each makes one attempt only, the next one is forked while it is at work: forking is most of what that costs.
    """

    def __init__(self, limits: Limits, guard: GroupGuard, as_horse: Callable[[], None]) -> None:
        self._limits = limits
        self._guard = guard
        self._as_horse = as_horse
        self._horse: ForkedHorse | None = None
        self._next: ForkedHorse | None = None
        self._leaving: list[int] = []

    @property
    def pid(self) -> int:
        """The work-horse's process id; 0 when there is none."""
        return self._horse.pid if self._horse else 0

    def lacks(self) -> str:
        """Why there is no work-horse, where there is none and none can be had now; empty otherwise."""
        try:
            if self._horse is None:
                self.ready()
        except NoHorse as error:
            return str(error)
        return ""

    def ready(self, *, sure: bool = True) -> int:
        """Have a work-horse that is alive, and rests, and a guard beside it; its process id. Raises NoHorse.

        Not ``sure``: a new one need not have said yet that it can run anything; whoever asks next waits for that.
        """
        try:
            self._guard.keep()
        except OSError as error:
            raise NoHorse(f"no guard can be forked ({error.strerror})") from error
        if self._horse is not None and self._horse.looks_back:
            self._hear_if_spent(self._horse)
        elif self._horse is not None and forked.has_ended(self._horse.pid):
            log.warning("a resting work-horse ended; forking another", extra={"action": "horse_ended"})
            self._drop(kill=True)
        if self._horse is None:
            self._see_off()
            spare, self._next = self._next, None
            if spare is not None and forked.has_ended(spare.pid):
                spare.end(by_force=True)
                spare = None
            self._horse = horse = spare or self._fork()
            self._guard.watch(horse.pid, to_its_end=True)
            if sure and horse.looks_back:
                self._hear_if_spent(horse)
        if self._horse is None:
            raise NoHorse("a new work-horse ended before it could run anything")
        return self._horse.pid

    def watch_again(self) -> None:
        """The guard has guarded another group meanwhile."""
        if self._horse is not None:
            self._guard.watch(self._horse.pid, to_its_end=True)

    def ask(
        self, message: dict[str, Any], renew: Callable[[], str], look: Callable[[], None], ends_ms: Callable[[], float]
    ) -> dict[str, Any]:
        """The work-horse's answer; raises HorseDied, or NoHorse when there is none to ask.

        Meanwhile ``renew`` answers what it asks of its lease (`renewed`, `lost`, else nothing is known), and ``look``
        is called after half a second and then each ten. ``ends_ms``: by when, on the local clock, it ends by itself if
        its lease is not renewed; one that is still there then is stopped, or cannot end, and is killed.
        """
        if self._horse is None or self._horse.looks_back:
            self.ready()
        horse = self._horse
        assert horse is not None
        horse.resting = False
        try:
            horse.work.send(message)
            if self._limits.jobs == 1 and self._next is None:
                with contextlib.suppress(NoHorse):  # whoever needs it forks it then, and says what is wrong
                    self._next = self._fork()
            answer = self._await(horse, renew, look, ends_ms)
        except ChannelBroken:
            raise HorseDied(self._drop(kill=True)) from None
        horse.resting = True
        if answer.get("failed") is not False:
            self._drop(kill=True)
        else:
            horse.looks_back = True
        return answer

    def _hear_if_spent(self, horse: ForkedHorse) -> None:
        try:
            if not horse.work.has_read_ahead and not horse.says_something(forked.ENDS_WITHIN_MS):
                raise ChannelBroken("it says nothing")
            spent = horse.work.receive().get("spent")
            if not isinstance(spent, str):  # as when a task forked, and its copy answers too
                raise ChannelBroken("it says something else")
        except ChannelBroken:
            log.warning("a work-horse ended or got stuck between two attempts", extra={"action": "horse_ended"})
            self._drop(kill=True)
            return
        horse.looks_back = False
        if spent == "":
            return
        if spent != "jobs":
            log.info("the work-horse is replaced: %s", spent, extra={"action": "horse_replaced"})
        self._let_go()

    def _let_go(self) -> None:
        """It has said that it ends, and what it did is over: nobody need wait for that now."""
        horse, self._horse = self._horse, None
        assert horse is not None
        self._guard.release()  # before it can end: what a success left running goes on
        horse.close()
        self._leaving.append(horse.pid)

    def _see_off(self, at_most: int = _LEAVING_AT_A_TIME) -> None:
        """Wait for those that have ended; and for the longest leaving ones, where they are too many."""
        for pid in list(self._leaving):
            if forked.has_ended(pid):
                self._wait_for(pid)
        while len(self._leaving) > at_most:
            pid = self._leaving[0]
            if not forked.ends_by_itself(pid):
                forked.kill(pid)
            self._wait_for(pid)

    def _wait_for(self, pid: int) -> None:
        self._leaving.remove(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    def kill(self) -> int | None:
        """End the work-horse and what it started, now; its wait status, when it could be waited for."""
        status = self._drop(kill=True) if self._horse is not None else None
        self._end_all()
        return status

    def dismiss(self) -> None:
        """Let a resting work-horse end by itself."""
        if self._horse is not None:
            self._drop(kill=not self._horse.resting)
        self._end_all()

    def _end_all(self) -> None:
        spare, self._next = self._next, None
        if spare is not None:
            spare.end(by_force=False)
        self._see_off(0)

    def _await(
        self, horse: ForkedHorse, renew: Callable[[], str], look: Callable[[], None], ends_ms: Callable[[], float]
    ) -> dict[str, Any]:
        clock = SystemClock()
        look_at_ms = clock.monotonic_ms() + _FIRST_LOOK_MS
        while True:
            until_ms = min(look_at_ms, ends_ms())
            ready = {fd for fd, _ in horse.poll.poll(max(until_ms - clock.monotonic_ms(), 0.0))}
            if horse.work.fileno() in ready:
                return horse.work.receive()
            if horse.ended in ready:
                raise ChannelBroken("it has ended, and what it has forked has not")
            if horse.lease.fileno() in ready:
                number = horse.lease.receive().get("n")
                horse.lease.send({"n": number, "lease": renew()})
            if not ready and clock.monotonic_ms() >= ends_ms():  # what has ended, or asks, would be ready
                log.error("a work-horse did not end with its lease; killed", extra={"action": "horse_killed"})
                raise ChannelBroken("it is stopped, or cannot end")
            if clock.monotonic_ms() >= look_at_ms:
                with contextlib.suppress(OSError):  # where no process can be had for it now, there may be one later
                    self._guard.keep()
                look()
                look_at_ms = clock.monotonic_ms() + _LATER_LOOKS_MS

    def _fork(self) -> ForkedHorse:
        try:
            one, other = Channel.pair(), Channel.pair()
        except OSError as error:
            raise NoHorse(f"no channel to a work-horse can be made ({error.strerror})") from error
        try:
            return self._forked(one, other)
        except OSError as error:
            for end in (*one, *other):
                end.close()
            raise NoHorse(f"no work-horse can be forked ({error.strerror})") from error

    def _forked(self, work_ends: tuple[Channel, Channel], lease_ends: tuple[Channel, Channel]) -> ForkedHorse:
        (work, its_work), (lease, its_lease) = work_ends, lease_ends
        parent = os.getpid()
        # What is there now is never collected, so that no collector writes into the pages that both share.
        gc.freeze()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD_BACK)
        try:
            pid = os.fork()
        except BaseException:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            raise
        if pid == 0:
            try:
                os.setpgid(0, 0)
                die_with_parent(parent)
                self._guard.close()
                for channel in (work, lease):
                    channel.close()
                for other in filter(None, (self._horse, self._next)):
                    other.close()
                random.seed()
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # it guards the lease
                self._as_horse()
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
                serve(its_work, its_lease, self._limits)
            finally:
                os._exit(1)
        with contextlib.suppress(OSError):  # whichever of the two comes first
            os.setpgid(pid, pid)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        its_work.close()
        its_lease.close()
        return ForkedHorse.of(pid, work, lease)

    def _drop(self, *, kill: bool) -> int | None:
        """Forget the work-horse, once it has ended; killed, or by itself where its channels are closed."""
        horse, self._horse = self._horse, None
        if not kill:
            self._guard.release()
        status = horse.end(by_force=kill) if horse is not None else None
        if kill:
            self._guard.release()
        return status
