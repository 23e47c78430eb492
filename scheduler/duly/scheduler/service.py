"""A scheduler candidate: competes for the duty, sweeps while it holds it, hands it over when it stops."""

from __future__ import annotations

import logging
import time
from typing import Any, NamedTuple

import redis

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import new_token
from duly.common.store import Store
from duly.common.store.connection import NO_ANSWER, Client, connect
from duly.common.store.fleet import BEAT_MS
from duly.scheduler.sweep import PREPARED_FOR_MS, Sweep, Sweeper

log = logging.getLogger(__name__)

UNAVAILABLE_WAIT_MS = 500.0
LONGEST_WAIT_MS = 3_000.0
WORTH_PREPARING_MS = 4.0
"""An instant that is at least this far away is prepared for."""


class Awaited(NamedTuple):
    """The instant that is next, and when it comes by the local clock."""

    instant_ms: int
    comes_ms: float


class Candidate:
    """One process's part in the competition for the duty. `step` does one thing and says how long to wait."""

    def __init__(self, store: Store, sweeper: Sweeper, name: str, clock: Clock | None = None) -> None:
        self._store = store
        self._sweeper = sweeper
        self._name = name
        self._clock = clock or SystemClock()
        self._token = new_token()
        self._holding = False
        self._beat_at_ms = 0.0
        self._longest_sweep_ms = 0.0
        self._away = False
        self._answers = True
        self._awaited: Awaited | None = None

    @property
    def holding(self) -> bool:
        """Whether this process believed at its last step that it holds the duty."""
        return self._holding

    def step(self) -> float:
        """Claim the duty, or sweep under it; the milliseconds until there is something to do again.

        A store that cannot be reached is an answer too: nothing is known, so nothing is done, and the duty must
        be proven again.
        """
        now_ms = self._clock.monotonic_ms()
        try:
            come = self._what_has_come(now_ms)
            if come is None:
                self._beat(now_ms)
            wait_ms = self._hold(come) if self._holding else self._claim()
            if come is not None:  # that was more urgent
                self._beat(now_ms)
        except StoreUnavailable as error:
            self._answers = not isinstance(error.__cause__, NO_ANSWER)
            self._say_once(error)
            return UNAVAILABLE_WAIT_MS
        self._answers = True
        self._say_back()
        return wait_ms

    def stop(self) -> None:
        """Hand the duty over, so that another candidate need not wait for it to expire.

        A store that did not answer the last step is not asked: the duty expires, and nobody who stops waits for it.
        """
        if not self._answers:
            if self._holding:
                log.warning("duty not handed over: Redis did not answer", extra={"action": "store_unavailable"})
            self._holding = False
            return
        try:
            if self._holding and self._store.sweeping.release_duty(self._token):
                log.info("%s handed the duty over", self._name, extra={"action": "duty_released"})
            self._store.fleet.leave(self._name)
        except StoreUnavailable as error:
            log.warning("duty not handed over: %s", error, extra={"action": "store_unavailable"})
        self._holding = False

    def _hold(self, come: Awaited | None) -> float:
        began_ms = self._clock.monotonic_ms()
        holding = come is None or self._sweeper.dispatch_prepared(self._token, come.instant_ms)
        if holding and come is not None and self._goes_on_from(come):
            return self._wait_ms()
        asked_ms = self._clock.monotonic_ms()
        sweep = self._sweeper.sweep_once(self._token) if holding else None
        self._longest_sweep_ms = max(self._longest_sweep_ms, self._clock.monotonic_ms() - began_ms)
        if sweep is None:
            log.warning("%s lost the duty", self._name, extra={"action": "duty_lost"})
            self._holding, self._beat_at_ms, self._token = False, 0.0, new_token()
            return 0.0
        return self._until_next(sweep, asked_ms)

    def _what_has_come(self, now_ms: float) -> Awaited | None:
        """The instant that was next, if it has just come by the local clock; the store's has the last word."""
        awaited, self._awaited = self._awaited, None
        if awaited is not None and self._holding and 0 <= now_ms - awaited.comes_ms <= PREPARED_FOR_MS:
            return awaited
        return None

    def _goes_on_from(self, come: Awaited) -> bool:
        """Whether another instant is prepared for, which may come before a look would be over."""
        following_ms = self._sweeper.prepared_ms
        if following_ms is None or following_ms <= come.instant_ms:
            return False
        self._awaited = Awaited(following_ms, come.comes_ms + following_ms - come.instant_ms)
        return True

    def _wait_ms(self) -> float:
        assert self._awaited is not None
        return max(self._awaited.comes_ms - self._clock.monotonic_ms(), 0.0)

    def _claim(self) -> float:
        ttl_ms = self._store.settings.duty_ttl_ms
        fence, wait_ms = self._store.sweeping.claim_duty(self._token, self._name, ttl_ms)
        if fence is None:
            return min(float(wait_ms), LONGEST_WAIT_MS)
        self._holding, self._beat_at_ms = True, 0.0
        log.info("%s holds the duty, fence %d", self._name, fence, extra={"action": "duty_acquired"})
        return 0.0

    def _say_once(self, error: StoreUnavailable) -> None:
        """An outage is one line, however long it lasts."""
        if not self._away:
            log.warning("%s keeps trying: %s", self._name, error, extra={"action": "store_unavailable"})
        self._away = True

    def _say_back(self) -> None:
        if self._away:
            log.info("%s: Redis is back", self._name, extra={"action": "store_back"})
        self._away = False

    def _until_next(self, sweep: Sweep, asked_ms: float) -> float:
        if sweep.more:
            return 0.0
        longest = min(self._store.settings.duty_ttl_ms / 3, LONGEST_WAIT_MS)
        if sweep.upcoming_ms is None:
            return longest
        # The store's clock was read after `asked_ms`: measured from there the wait can only be too short.
        comes_ms = asked_ms + sweep.upcoming_ms - sweep.clock_ms
        if WORTH_PREPARING_MS <= comes_ms - self._clock.monotonic_ms() <= longest:
            self._sweeper.prepare(sweep.upcoming_ms)
        self._awaited = Awaited(sweep.upcoming_ms, comes_ms)
        return min(self._wait_ms(), longest)

    def _beat(self, now_ms: float) -> None:
        if now_ms >= self._beat_at_ms:
            details: dict[str, Any] = {"role": "scheduler", "state": "holding" if self._holding else "standby"}
            if self._longest_sweep_ms:
                details["sweep_ms"] = round(self._longest_sweep_ms, 3)
            self._store.fleet.beat(self._name, details)
            self._longest_sweep_ms = 0.0
            self._beat_at_ms = now_ms + BEAT_MS


class Waker:
    """Waits for a message that something became due earlier than expected, or that the duty is free.

    A lost message costs at most the candidate's longest wait. The connection is its own: a subscribed
    connection can do nothing else.
    """

    def __init__(self, store: Store, clock: Clock | None = None) -> None:
        self._client: Client = connect(store.settings.redis_url)
        self._clock = clock or SystemClock()
        self._channels = (store.keys.wake_channel, store.keys.duty_channel)
        self._pubsub: redis.client.PubSub | None = None

    def wait(self, timeout_ms: float) -> bool:
        """True when a message came; False when the time is over, not much later than said, or the subscription broke.

        A socket is waited for in whole milliseconds, rounded up: what is left of one is slept.
        """
        ends_ms = self._clock.monotonic_ms() + timeout_ms
        try:
            if self._pubsub is None:
                self._pubsub = self._client.pubsub(ignore_subscribe_messages=True)
                self._pubsub.subscribe(*self._channels)
            woken = self._pubsub.get_message(timeout=max(timeout_ms - 1.0, 0.0) / 1000) is not None
            while woken and self._pubsub.get_message(timeout=0.0) is not None:
                pass  # one look serves all that came together
        except redis.exceptions.RedisError:
            self.close()
            return False
        if not woken:
            time.sleep(min(max(ends_ms - self._clock.monotonic_ms(), 0.0), 1.0) / 1000)
        return woken

    def close(self) -> None:
        if self._pubsub is not None:
            self._pubsub.close()
            self._pubsub = None
