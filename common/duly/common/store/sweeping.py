"""What the duty holder does in the store: claims the duty, surveys what is due, dispatches and attends.

Each call carries the duty's token, and each script checks it before it writes: a holder that was replaced
changes nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import redis

from duly.common.errors import StoreRefused
from duly.common.identity import Occurrence, canonical_json
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import model_of
from duly.common.store import jobs
from duly.common.store.connection import Client, refusal, translated
from duly.common.store.scripts import Asked, Scripts
from duly.common.timetable import TickRange

log = logging.getLogger(__name__)

# Ticks that may wait behind a running occurrence under `buffer_one` before the newest coalesces the older ones.
BUFFERED_TICKS = 20


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule whose instant has come, as the survey saw it. Instants in epoch milliseconds."""

    schedule_id: str
    revision: str
    definition_revision: str
    incarnation: str
    state: str
    next_run_ms: int | None
    paused_until_ms: int | None
    carry: str
    last_run_ms: int | None = None
    """The latest tick of its present timing whose run has finished."""


@dataclass(frozen=True, slots=True)
class WatchedOccurrence:
    """An open occurrence whose instant has come."""

    occurrence: Occurrence
    attempt: int
    queue: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What the duty holder saw. ``clock_ms``: the store's clock; ``upcoming_ms``: the next instant with work."""

    clock_ms: float
    schedules: list[DueSchedule]
    occurrences: list[WatchedOccurrence]
    upcoming_ms: int | None
    more_schedules: bool
    """Whether as many were due as it asked for, and more may be; some may have been settled by the look itself."""
    more_occurrences: bool

    @property
    def now_ms(self) -> int:
        """The instant by which the store tells what is due: whole milliseconds that have passed."""
        return int(self.clock_ms)


class Action(StrEnum):
    """What the sweep wants for one tick; the store may still refuse an `enqueue`."""

    ENQUEUE = "enqueue"
    SKIP = "skip"
    FAIL = "fail"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class TickOrder:
    """One tick and what to do with it; ``reason`` is an audit reason for SKIP and FAIL, a hold's code for HOLD."""

    tick_ms: int
    action: Action = Action.ENQUEUE
    reason: str = ""
    jitter_ms: int = 0
    """How far after its tick it may be released."""


@dataclass(frozen=True, slots=True)
class DispatchOrder:
    """What the sweep decided for one schedule: its due ticks, what was dropped, and where it stands next."""

    seen: DueSchedule
    queue: str
    """Empty when what is stored cannot be used; its ticks can only fail."""
    definition_revision: str
    ticks: Sequence[TickOrder]
    dropped: TickRange | None
    new_next_ms: int | None
    new_due_ms: int | None
    new_carry: str = ""
    backlog_until_ms: int | None = None
    """The last tick of a backlog that this order is one part of, while parts are left; the last of carried ticks that
    somebody asked for, which wait their turn where others would be skipped."""
    definition: ScheduleDefinition | None = None
    """What the ticks belong to. Needed of carried ones: the scripts know the schedule's present definition."""


@dataclass(frozen=True, slots=True)
class DispatchReply:
    """``word``: `advanced`, `failed` (stays due), `changed` (somebody was faster), `untimely` (planned for another
    time), `backwards` (a defect) or `refused` (the server cannot carry it out)."""

    word: str
    outcomes: list[tuple[str, str]]
    """(outcome, reason) for each tick that was settled, in order."""


class SurveyAsked:
    """A survey that was asked for: wait for it, or drop it."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def survey(self) -> Survey | None:
        """What was seen; None when the duty is lost."""
        with translated():
            reply = self._asked.reply()
        if reply[0] == "lost_duty":
            return None
        _, clock_ms, schedules, occurrences, upcoming, full = reply
        return Survey(
            clock_ms=float(clock_ms),
            schedules=[_due(row) for row in json.loads(schedules)],
            occurrences=[
                WatchedOccurrence(Occurrence.parse(row[0]), int(row[1]), row[2] or "default")
                for row in json.loads(occurrences)
            ],
            upcoming_ms=min((int(float(each)) for each in upcoming if each), default=None),
            more_schedules=full[0] == 1,
            more_occurrences=full[1] == 1,
        )

    def drop(self) -> None:
        """Nobody wants it any more; it may have renewed the duty."""
        self._asked.drop()


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
        return [(int(float(due_ms)), _due(seen[0])) for due_ms, *seen in json.loads(reply[1]) if seen]

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
        store's clock says whether it is time. ``encoded``: what `encoded` said of them, where there was time to ask.
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
            until_ms=_text(until_ms),
            orders=self.encoded(orders, now_ms) if encoded is None else encoded,
        )
        with translated(), call as reply:
            yield lambda: _replies(reply(), len(orders))

    @staticmethod
    def encoded(orders: Sequence[DispatchOrder], now_ms: int) -> str:
        """The orders as `lua/dispatch.lua` takes them."""
        queues = {order.queue for order in orders if order.queue and order.ticks}
        shared = {queue: jobs.shared_fields(queue, now_ms) for queue in sorted(queues)}
        return json.dumps({"jobs": shared, "schedules": [_row(order) for order in orders]}, ensure_ascii=False)

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


def terms(definition: ScheduleDefinition) -> str:
    """What the scripts need of a definition: kept in the schedule's hash, where they find it by themselves.

    The digest of its work, a space, and as JSON what other schedules may have as well (`lua/lib/terms.lua`). ``fields``
    is what each occurrence keeps; numbers in it are text, as everywhere in a hash.
    """
    fields: dict[str, object] = {
        "coalesces": "1" if definition.policy.coalesces else "0",
        "overlap": definition.overlap,
        "lease_ttl_ms": definition.lease_ttl_ms,
        "retry_budget": definition.retry_budget,
        "backoff_base_ms": definition.backoff.base_ms,
        "backoff_factor": definition.backoff.factor,
        "backoff_max_ms": definition.backoff.max_ms,
        "review_owner": definition.review_owner,
        "task": definition.task,
        "queue": definition.queue,
        "model": canonical_json(model_of(definition)),
    }
    if definition.max_lateness_ms is not None:
        fields["max_lateness_ms"] = definition.max_lateness_ms
    if definition.approval == "required":
        fields["approval"] = definition.approval
    shared = {
        "fields": [part for name, value in fields.items() for part in (name, str(value))],
        "coalesces": definition.policy.coalesces,
        "overlap": definition.overlap,
        "buffer": definition.backfill_limit or BUFFERED_TICKS,
        "queue": definition.queue,
    }
    return f"{definition.digest} {canonical_json(shared)}"


def _replies(reply: list[Any], count: int) -> list[DispatchReply] | None:
    if reply[0] == "lost_duty":
        return None
    if reply[0] == "untimely":
        return [DispatchReply("untimely", [])] * count
    return [DispatchReply(row[0], [_outcome(text) for text in row[1:]]) for row in json.loads(reply[1])]


def _row(order: DispatchOrder) -> list[object]:
    seen, dropped = order.seen, order.dropped
    return [
        seen.schedule_id, seen.revision, order.definition_revision, seen.incarnation,
        _text(seen.next_run_ms), seen.carry,
        _text(order.new_next_ms), _text(order.new_due_ms), order.new_carry,
        *((str(dropped.count), str(dropped.first_ms), str(dropped.last_ms)) if dropped else ("0", "", "")),
        _text(order.backlog_until_ms),
        # Only carried ticks bring terms along: those of the definition they belong to.
        terms(order.definition) if seen.carry and order.definition else "",
        [(str(tick.tick_ms), str(tick.jitter_ms), tick.action.value, tick.reason) for tick in order.ticks],
    ]  # fmt: skip


def _due(row: list[str]) -> DueSchedule:
    schedule_id, revision, definition_revision, incarnation, state, next_run, until, carry, last_run = row
    return DueSchedule(
        schedule_id,
        revision,
        definition_revision,
        incarnation,
        state,
        int(next_run) if next_run.isdigit() else None,
        int(until) if until.isdigit() else None,
        carry,
        int(last_run) if last_run.isdigit() else None,
    )


def _outcome(text: str) -> tuple[str, str]:
    outcome, _, reason = text.partition(":")
    return outcome, reason


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
