"""A work-horse's side of its lease: asked of its worker, and kept by one thread for all of its attempts."""

from __future__ import annotations

import math
import os
import threading

from duly.common.clock import SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.store.attempts import Lease
from duly.worker.channel import Channel, ChannelBroken
from duly.worker.lease_keeper import LeaseKeeper, Renewals


class LeaseOfWorker:
    """The lease, as a work-horse has it: its worker is asked, and any doubt is no. For any thread of the work-horse."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._asked = 0
        self._process = os.getpid()

    def renew(self, _lease: Lease, /) -> bool:
        """As `AttemptStore.renew`."""
        if os.getpid() != self._process:  # its questions would take the answers of the work-horse's own
            raise StoreUnavailable("only the process that the task was started in can ask for its lease")
        with self._lock:
            self._asked += 1
            number = self._asked
            try:
                self._channel.send({"n": number})
                # An answer that nobody waited for, because the time-out was raised just then, comes first.
                while (answer := self._channel.receive()).get("n") != number:
                    pass
            except ChannelBroken as error:
                raise StoreUnavailable("the worker does not answer") from error
        word = answer.get("lease")
        if word not in {"renewed", "lost"}:
            raise StoreUnavailable("the worker could not ask the store")
        return bool(word == "renewed")


class Keeping:
    """The one thread of a work-horse that keeps the lease of whatever it runs, from attempt to attempt.

    It is woken only when it would look too late otherwise: most attempts end before their lease is to be renewed. What
    it was woken for stays its plan when the attempt has ended meanwhile, so that the next one finds it planned.
    """

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._changed = threading.Event()
        self._keeper: LeaseKeeper | None = None
        self._until_ms = math.inf
        threading.Thread(target=self._keep, name="lease-keeper", daemon=True).start()

    def attend(self, keeper: LeaseKeeper | None) -> None:
        """Look after this lease from now on, or after none; a look under way at another one ends first."""
        with self._looking:
            self._keeper = keeper
        if keeper is not None:
            self.look_by(keeper.next_look_ms())

    def look_by(self, instant_ms: float) -> None:
        """Have a look no later than this."""
        if instant_ms < self._until_ms:
            self._until_ms = instant_ms
            self._changed.set()

    def _keep(self) -> None:
        clock = SystemClock()
        while True:
            self._changed.clear()
            # While it looks, whoever comes with something new wakes it again.
            planned_ms, self._until_ms = self._until_ms, math.inf
            with self._looking:
                next_ms = planned_ms if self._keeper is None else self._keeper.look()
            now_ms = clock.monotonic_ms()
            if next_ms <= now_ms and self._keeper is None:
                next_ms = math.inf
            self._until_ms = min(next_ms, self._until_ms)
            self._changed.wait(None if next_ms == math.inf else max(next_ms - now_ms, 1.0) / 1000)


class HorseKeeper(LeaseKeeper):
    """Keeps one lease by the work-horse's one thread."""

    def __init__(self, attempts: Renewals, lease: Lease, asked_ms: float, keeping: Keeping) -> None:
        super().__init__(attempts, lease, asked_ms)
        self._keeping = keeping

    def _watch(self) -> None:
        self._keeping.attend(self)

    def _unwatch(self) -> None:
        self._keeping.attend(None)

    def _wake(self) -> None:
        self._keeping.look_by(self.next_look_ms())
