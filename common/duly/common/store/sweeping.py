"""What the duty holder does in the store: claims the duty, surveys what is due, dispatches and attends.

Each call carries the duty's token, and each script checks it before it writes: a holder that was replaced
changes nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis

from duly.common.errors import StoreRefused
from duly.common.store import jobs
from duly.common.store.connection import Client, refusal, translated
from duly.common.store.dispatch import DispatchOrder, DispatchReply, encode_orders, replies_of
from duly.common.store.scripts import Scripts
from duly.common.store.survey import DueSchedule, Survey, SurveyAsked, WatchedOccurrence, due_schedule

log = logging.getLogger(__name__)


class SweepStore:
    """The store as the duty holder uses it. `None` from a method means that the duty is lost."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    def claim_duty(self, token: str, holder: str, ttl_ms: int) -> tuple[int | None, int]:
        """Ask for the duty: (fence, 0) when it is held now, (None, milliseconds to wait) when it is taken."""
        with translated():
            reply = self._scripts.call("claim_duty", token=token, holder=holder, ttl_ms=ttl_ms)
        if reply[0] == "holding":
            return int(reply[1] or 0), 0
        return None, max(int(reply[1]), 1)

    def release_duty(self, token: str) -> bool:
        """Hand the duty over; False when it was not held."""
        with translated():
            return bool(self._scripts.call("release_duty", token=token)[0] == "released")

    def surveying(self, token: str, ttl_ms: int, page: int, beyond: Survey | None = None) -> SurveyAsked:
        """Ask to renew the duty and to see what is due: at most ``page`` schedules and ``page`` occurrences.

        ``beyond``: leave out as many of those that are due first as that survey found, which is being settled.
        Raises StoreUnavailable, now or when the answer is asked for.
        """
        with translated():
            asked = self._scripts.ask(
                "survey",
                duty_token=token,
                duty_ttl_ms=ttl_ms,
                page=page,
                skip_schedules=len(beyond.schedules) if beyond else 0,
                skip_occurrences=len(beyond.occurrences) if beyond else 0,
            )
        return SurveyAsked(asked)

    def ahead(self, by_ms: int, most: int) -> list[tuple[int, DueSchedule]]:
        """What will be due by ``by_ms``, as it stands now, each with when it will be; at most ``most`` schedules."""
        with translated():
            reply = self._scripts.call("ahead", by_ms=by_ms, most=most)
        return [(int(float(due_ms)), due_schedule(seen[0])) for due_ms, *seen in json.loads(reply[1]) if seen]

    def dispatch(
        self,
        token: str,
        orders: Sequence[DispatchOrder],
        now_ms: int,
        queue_limit: int,
        *,
        until_ms: int | None = None,
        encoded: str | None = None,
    ) -> list[DispatchReply] | None:
        """Carry out the orders in one script; one reply for each, in order. Raises StoreUnavailable, or StoreRefused.

        ``now_ms``: the instant that they were planned for; ``until_ms``: how long the plan is good, None for ever. The
        store's clock says whether it is time. ``encoded``: what `encode_orders` made of them, where there was time.
        """
        call = self.dispatching(token, orders, now_ms, queue_limit, until_ms=until_ms, encoded=encoded)
        with call as replies:
            return replies()

    @contextmanager
    def dispatching(
        self,
        token: str,
        orders: Sequence[DispatchOrder],
        now_ms: int,
        queue_limit: int,
        *,
        until_ms: int | None = None,
        encoded: str | None = None,
    ) -> Iterator[Callable[[], list[DispatchReply] | None]]:
        """`dispatch`, with time to do something else inside the block before the replies are asked for."""
        call = self._scripts.started(
            "dispatch",
            duty_token=token,
            queue_limit=queue_limit,
            planned_ms=now_ms,
            until_ms="" if until_ms is None else until_ms,
            orders=encode_orders(orders, now_ms) if encoded is None else encoded,
        )
        with translated(), call as reply:
            yield lambda: replies_of(reply(), len(orders))

    def attend(self, token: str, watched: Sequence[WatchedOccurrence], now_ms: int) -> list[str] | None:
        """Look at each occurrence: expire its lease, release its retry, deliver it again. One word for each."""
        if not watched:
            return []
        with translated(), self._client.pipeline(transaction=False) as pipe:
            for each in watched:
                attempt = each.attempt + 1
                self._scripts.queue(
                    pipe,
                    "attend",
                    jobs.shared_fields(each.queue, now_ms),
                    duty_token=token,
                    schedule_id=each.occurrence.schedule_id,
                    tick_ms=each.occurrence.tick_ms,
                    attempt=attempt,
                    queue=each.queue,
                )
            replies = pipe.execute(raise_on_error=False)
        words = [self._attended(each, reply) for each, reply in zip(watched, replies, strict=True)]
        return None if "lost_duty" in words else words

    def _attended(self, watched: WatchedOccurrence, reply: Any) -> str:
        """The reply's word; an occurrence that the store cannot handle keeps nobody from handling the others."""
        if not isinstance(reply, Exception):
            return str(self._scripts.check("attend", reply)[0])
        if isinstance(reply, redis.exceptions.RedisError) and isinstance(error := refusal(reply), StoreRefused):
            log.error("%s cannot be attended: %s", watched.occurrence, error, extra={"action": "store_refused"})
            return "refused"
        raise refusal(reply) if isinstance(reply, redis.exceptions.RedisError) else reply
