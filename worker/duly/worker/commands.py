"""RQ's commands to one worker (stop a job, end the work-horse, shut down), heard whatever happens to Redis."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import redis

from duly.common.clock import Clock, SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.process.restarts import Restarts
from duly.common.store.connection import NO_ANSWER, Client, translated

log = logging.getLogger(__name__)

QUIET_S = 15.0
"""A channel that is silent for so long is asked for a sign of life; when none comes for so long, it is opened anew."""
LONGEST_AWAY_MS = 2_000.0
"""A Redis that is away is tried again as often as RQ tries it for jobs; one that refuses may refuse for long."""
_JOIN_S = 1.0


class Commands:
    """Listens in a thread of its own from `start` to `stop`, and gives each message of the channel to ``obey``.

    What breaks the subscription, or forbids it, is one line in the log; it is made anew after waits that grow. What
    ``obey`` raises is a line, too. The client is used for nothing else.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        channel: str,
        obey: Callable[[dict[str, Any]], object],
        clock: Clock | None = None,
    ) -> None:
        self._name, self._client, self._channel, self._obey = name, client, channel, obey
        self._clock = clock or SystemClock()
        self._waits = Restarts()
        self._said = ""
        self._stopped = threading.Event()
        self._pubsub: redis.client.PubSub | None = None
        self._thread = threading.Thread(target=self._keep_listening, name="rq-commands", daemon=True)

    def start(self) -> None:
        """Begin to listen; Redis need not be there."""
        self._thread.start()

    def stop(self) -> None:
        """Listen no longer. Waits a second at most, and not for Redis."""
        self._stopped.set()
        connection = self._pubsub.connection if self._pubsub is not None else None
        if connection is not None:
            connection.disconnect()  # which wakes the thread
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_S)

    def _keep_listening(self) -> None:
        while not self._stopped.is_set():
            began_ms = self._clock.monotonic_ms()
            try:
                with translated(), closing(self._client.pubsub()) as self._pubsub:
                    self._listen(self._pubsub)
            except Exception as error:  # noqa: BLE001 - without this thread nobody could stop a job any more
                if self._stopped.is_set():
                    return
                self._say_once(str(error) if isinstance(error, StoreUnavailable) else type(error).__name__)
                wait_ms = self._waits.ended(self._clock.monotonic_ms(), began_ms)
                self._stopped.wait((min(wait_ms, LONGEST_AWAY_MS) if _is_away(error) else wait_ms) / 1000)

    def _listen(self, pubsub: redis.client.PubSub) -> None:
        pubsub.subscribe(self._channel)
        asked = False
        while not self._stopped.is_set():
            message = pubsub.get_message(timeout=QUIET_S)
            if message is not None:
                asked = False
                self._heed(message)
            elif asked:
                raise redis.exceptions.TimeoutError("a subscribed connection gives no sign of life")
            else:
                # A connection that the network has lost says nothing, like one on which there is nothing to say.
                pubsub.ping()
                asked = True

    def _heed(self, message: dict[str, Any]) -> None:
        if message["type"] == "subscribe":
            self._say_back()
        elif message["type"] == "message":
            try:
                self._obey(message)
            except Exception as error:  # noqa: BLE001 - anyone can publish anything, and the next one may be in order
                said = "%s could not follow a command of RQ: %s"
                log.warning(said, self._name, type(error).__name__, extra={"action": "command_failed"})

    def _say_once(self, why: str) -> None:
        """An outage is one line, however long it lasts."""
        if why != self._said:
            said = "%s does not hear RQ's commands, and keeps trying: %s"
            log.warning(said, self._name, why, extra={"action": "commands_unheard"})
        self._said = why

    def _say_back(self) -> None:
        if self._said:
            log.info("%s hears RQ's commands again", self._name, extra={"action": "commands_heard"})
        self._said = ""


def _is_away(error: Exception) -> bool:
    return isinstance(error.__cause__, NO_ANSWER)
