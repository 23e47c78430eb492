"""What the duty holder orders for due ticks, and what became of them, as `lua/dispatch.lua` takes and gives it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.records.definition import ScheduleDefinition
from duly.common.store import jobs
from duly.common.store.survey import DueSchedule
from duly.common.store.terms import terms_of
from duly.common.timetable import TickRange


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
    """The last tick of a backlog that this order is one part of, while parts are left."""
    asked_for: bool = False
    """Somebody wants these ticks: they wait their turn where others would be skipped."""
    definition: ScheduleDefinition | None = None
    """What the ticks belong to. Needed of carried ones: the scripts know the schedule's present definition."""


@dataclass(frozen=True, slots=True)
class DispatchReply:
    """``word``: `advanced`, `failed` (stays due), `changed` (somebody was faster), `untimely` (planned for another
    time), `backwards` (a defect) or `refused` (the server cannot carry it out)."""

    word: str
    outcomes: list[tuple[str, str]]
    """(outcome, reason) for each tick that was settled, in order."""


def encode_orders(orders: Sequence[DispatchOrder], now_ms: int) -> str:
    """The orders, planned for that instant, as the script takes them."""
    queues = {order.queue for order in orders if order.queue and order.ticks}
    shared = {queue: jobs.shared_fields(queue, now_ms) for queue in sorted(queues)}
    return json.dumps({"jobs": shared, "schedules": [_row(order) for order in orders]}, ensure_ascii=False)


def replies_of(reply: list[Any], count: int) -> list[DispatchReply] | None:
    """One reply for each of the orders, in order; None when the duty is lost."""
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
        _text(order.backlog_until_ms), "1" if order.asked_for else "",
        # Only carried ticks bring terms along: those of the definition they belong to.
        terms_of(order.definition) if seen.carry and order.definition else "",
        [(str(tick.tick_ms), str(tick.jitter_ms), tick.action.value, tick.reason) for tick in order.ticks],
    ]  # fmt: skip


def _outcome(text: str) -> tuple[str, str]:
    outcome, _, reason = text.partition(":")
    return outcome, reason


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
