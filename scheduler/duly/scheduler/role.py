"""The scheduler as a process."""

from __future__ import annotations

import logging
import signal
import time

from duly.common.clock import SystemClock
from duly.common.errors import InvalidField
from duly.common.process.roles import GIVE_UP, RoleOptions
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.hooks import Hooks, load_hooks
from duly.scheduler.service import Candidate, Waker
from duly.scheduler.sweep import Sweeper

log = logging.getLogger(__name__)

# A signal is noticed within this time; waits for a due instant end exactly, whatever this is.
SLICE_MS = 200.0


def run(settings: Settings, options: RoleOptions) -> int:
    """Compete for the duty and sweep, until SIGTERM or SIGINT; in a burst, until nothing is due."""
    try:
        hooks = Hooks(load_hooks(settings.on_enqueue))
    except InvalidField as error:
        log.critical("%s", error, extra={"action": "bad_hook"})
        return 1
    store = Store.connect(settings)
    candidate = Candidate(store, Sweeper(store, hooks), options.name)
    stopping = _Stop()
    try:
        if options.burst:
            return _burst(candidate, stopping)
        _keep_sweeping(candidate, Waker(store), stopping)
    finally:
        candidate.stop()
    return 0


class _Stop:
    """Set by the first SIGTERM or SIGINT."""

    def __init__(self) -> None:
        self.requested = False
        signal.signal(signal.SIGTERM, self._request)
        signal.signal(signal.SIGINT, self._request)
        signal.signal(GIVE_UP, self._request)

    def _request(self, *_: object) -> None:
        self.requested = True


def _keep_sweeping(candidate: Candidate, waker: Waker, stopping: _Stop) -> None:
    clock = SystemClock()
    while not stopping.requested:
        wait_ms = candidate.step()
        until_ms = clock.monotonic_ms() + wait_ms
        while not stopping.requested:
            left_ms = until_ms - clock.monotonic_ms()
            if left_ms <= 0:
                break
            asked_ms = clock.monotonic_ms()
            slice_ms = min(left_ms, SLICE_MS)
            if waker.wait(slice_ms):
                break
            # A broken subscription returns at once; the wait for the due instant still has to happen.
            unspent_ms = slice_ms - (clock.monotonic_ms() - asked_ms)
            if unspent_ms > 1:
                time.sleep(unspent_ms / 1000)


def _burst(candidate: Candidate, stopping: _Stop) -> int:
    while not stopping.requested:
        wait_ms = candidate.step()
        if not candidate.holding or wait_ms > 0:
            return 0
    return 0
