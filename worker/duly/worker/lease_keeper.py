"""Keeping a lease while the work runs, and being dead before it can pass on.

Two guards, neither of which trusts the work. A thread renews the lease and watches the time-out. Beneath it a
kernel timer, set anew with every renewal, kills the process a margin before the lease it last proved would
expire: also when Python is stuck, and first thing when a stopped process continues. The timer counts from the
moment a renewal was *asked* for, so the store's expiry is always later.

SIGALRM at its default action and ITIMER_REAL belong to this module inside a work-horse; work that uses them
gives up its own protection. SIGVTALRM carries the time-out into the main thread.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from types import FrameType
from typing import Protocol

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.store.attempts import Lease

log = logging.getLogger(__name__)

TIMEOUT_SIGNAL = signal.SIGVTALRM
TIMEOUT_GRACE_MS = 5_000.0
"""How long the work may take to end after its time-out was raised in it."""
_TRY_AGAIN_MS = 200.0


class AttemptTimedOut(BaseException):
    """Raised inside work that ran into its time-out; not an Exception, so that work does not swallow it by habit."""


def fence_margin_ms(ttl_ms: int) -> float:
    """How long before the lease's end the process must be gone: a tenth, at least 100 ms, at most 2 s."""
    return min(max(ttl_ms / 10, 100.0), 2_000.0)


class Renewals(Protocol):
    """Where a lease is renewed: the store, or for a work-horse its worker."""

    def renew(self, lease: Lease, /) -> bool:
        """Whether the lease was extended; raises StoreUnavailable when nothing is known."""


class Keeper(Protocol):
    """What whoever records an attempt's outcome has to know of its lease."""

    @property
    def alive(self) -> bool:
        """Whether the lease is still proven by the local clock."""

    def settle(self, settling: bool = True) -> None:
        """From here on the outcome is recorded, which ends the lease."""

    def __enter__(self) -> Keeper: ...

    def __exit__(self, *_: object) -> None: ...


class LeaseKeeper:
    """Renews one lease from entering the block until leaving it. Use in the main thread of a work-horse only."""

    def __init__(self, attempts: Renewals, lease: Lease, asked_ms: float, clock: Clock | None = None) -> None:
        """``asked_ms``: the local clock right before the lease was asked for."""
        self._attempts = attempts
        self._lease = lease
        self._clock = clock or SystemClock()
        self._proven_until_ms = asked_ms + lease.ttl_ms - fence_margin_ms(lease.ttl_ms)
        # From then on, not from now: what came between has taken of the lease's time.
        self._renew_at_ms = asked_ms + lease.ttl_ms / 3
        self._deadline_ms: float | None = None
        self._timeout_raised = False
        self._settling = False
        self._timeout_lock = threading.Lock()
        self._changed = threading.Event()
        self._ended = False
        self._main_thread = threading.get_ident()

    def __enter__(self) -> LeaseKeeper:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(TIMEOUT_SIGNAL, self._on_timeout)
        self._arm()
        self._watch()
        return self

    def __exit__(self, *_: object) -> None:
        self._unwatch()
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _watch(self) -> None:
        """Have a thread look after the lease and the time-out; whoever has one already says so by overriding this."""
        self._thread = threading.Thread(target=self._keep, name="lease-keeper", daemon=True)
        self._thread.start()

    def _unwatch(self) -> None:
        """Nothing looks after it any more when this returns."""
        self._ended = True
        self._changed.set()
        self._thread.join()

    def _wake(self) -> None:
        """The time-out begins or ends: the thread may have to look earlier than it meant to."""
        self._changed.set()

    @property
    def alive(self) -> bool:
        """Whether the lease is still proven by the local clock; the kernel ends the process when it is not."""
        return self._clock.monotonic_ms() < self._proven_until_ms

    def start_timeout(self, timeout_ms: float) -> None:
        """From now on, raise AttemptTimedOut in the main thread when ``timeout_ms`` have passed."""
        with self._timeout_lock:
            self._deadline_ms = self._clock.monotonic_ms() + timeout_ms
            self._timeout_raised = False
        self._wake()

    def stop_timeout(self) -> None:
        """The work has ended; its outcome is being recorded, and no time-out may interrupt that."""
        with self._timeout_lock:
            self._deadline_ms = None
        self._wake()

    def settle(self, settling: bool = True) -> None:
        """From here on the outcome is recorded, which ends the lease: a renewal that finds it gone is no alarm."""
        self._settling = settling

    def _on_timeout(self, _number: int, _frame: FrameType | None) -> None:
        if self._deadline_ms is not None:
            raise AttemptTimedOut

    def _arm(self) -> None:
        left_ms = self._proven_until_ms - self._clock.monotonic_ms()
        # Zero would disarm the timer; a lease already over must end the process at once.
        signal.setitimer(signal.ITIMER_REAL, max(left_ms, 0.001) / 1000)
        if not self.alive and left_ms > 0.001:  # stopped between the two, when no timer ran
            signal.setitimer(signal.ITIMER_REAL, 0.000001)

    def _keep(self) -> None:
        while not self._ended:
            self._changed.clear()
            until_ms = self.look()
            self._changed.wait(max(until_ms - self._clock.monotonic_ms(), 1.0) / 1000)

    def next_look_ms(self) -> float:
        """When `look` has something to do."""
        deadline_ms = self._deadline_ms
        return self._renew_at_ms if deadline_ms is None else min(self._renew_at_ms, deadline_ms)

    def look(self) -> float:
        """Renew the lease and watch the time-out, where that is due; when to look again."""
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._renew_at_ms:
            self._renew_at_ms = now_ms + (self._lease.ttl_ms / 3 if self._renew(now_ms) else _TRY_AGAIN_MS)
        self._watch_timeout(now_ms)
        return self.next_look_ms()

    def _renew(self, asked_ms: float) -> bool:
        try:
            renewed = self._attempts.renew(self._lease)
        except StoreUnavailable:
            return False  # nothing is known: try again until the kernel's timer decides
        if not renewed and self._settling:
            return False
        if not renewed:
            log.error("%s: lease lost; stopping at once", self._lease.occurrence, extra={"action": "lease_lost"})
            end_process_group()
        self._proven_until_ms = asked_ms + self._lease.ttl_ms - fence_margin_ms(self._lease.ttl_ms)
        self._arm()
        return True

    def _watch_timeout(self, now_ms: float) -> None:
        """Raise the time-out when it has come, kill after its grace."""
        with self._timeout_lock:
            if self._deadline_ms is None or now_ms < self._deadline_ms:
                return
            if not self._timeout_raised:
                self._timeout_raised = True
                self._deadline_ms = now_ms + TIMEOUT_GRACE_MS
                signal.pthread_kill(self._main_thread, TIMEOUT_SIGNAL)
                return
        log.error("%s: still running after its time-out; killed", self._lease.occurrence, extra={"action": "timeout"})
        end_process_group()


def end_process_group() -> None:
    """Kill this work-horse and whatever it started, at once. A process that leads no group of its own dies alone."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
