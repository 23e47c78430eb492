"""Fleets of any size, written at once: one schedule as the scripts write it, and copies of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from duly.common.identity import Occurrence
from duly.common.records.definition import define
from duly.common.records.trail import EVENT_LINE, RUN_LINE, fields_of
from duly.common.store import Store
from duly.scheduler.sweep import Sweeper

TICKS = 5
EVENTS = TICKS
TRANSITIONS = 2 * TICKS
HOUR_MS = 3_600_000
_PART = 500


@dataclass(frozen=True)
class Fleet:
    """A fleet that was filled: its ids in order, a tick that each of them had, a hold, and a place in the holds."""

    store: Store
    ids: list[str]
    tick_ms: int
    held: Occurrence
    late_hold: str


@dataclass(frozen=True)
class _Pattern:
    """The first schedule and its one occurrence, as the scripts wrote them."""

    occurrence: Occurrence
    schedule: dict[str, str]
    record: dict[str, str]
    event: Mapping[str, str]
    transition: Mapping[str, str]
    change: dict[str, str]


def fill(store: Store, schedules: int) -> Fleet:
    """Schedules of which one in four is paused, each with some ticks behind it; every fourteenth part of them has a
    hold and as many have a run to approve, but never fewer than 40.
    """
    pattern = _pattern(store)
    ids = [f"s{number:06}" for number in range(schedules)]
    ticks = [pattern.occurrence.tick_ms - n * HOUR_MS for n in range(TICKS)]
    for first in range(0, schedules, _PART):
        _write(store, pattern, first, ids[first : first + _PART], ticks)
    waiting = ids[-max(40, min(400, schedules // 14)) :]
    _hold(store, pattern, waiting)
    late = waiting[25]
    place = f"hold:{_since(pattern, late)}:{late}@{ticks[0]}"
    return Fleet(store, ids, ticks[0], Occurrence(waiting[0], ticks[0]), place)


def _pattern(store: Store) -> _Pattern:
    store.schedules.add(
        define(
            {
                "schedule_id": "s000000",
                "spec": f"@every:{HOUR_MS}",
                "task": "bench.task",
                "missed_run_policy": "run_once",
                "review_owner": "ann",
            }
        )
    )
    keys, client = store.keys, store.client
    due_ms = int(client.zscore(keys.due, "s000000") or 0) - HOUR_MS
    client.hset(keys.schedule("s000000"), "next_run_ms", due_ms)
    client.zadd(keys.due, {"s000000": due_ms})
    store.sweeping.claim_duty("bench", "bench", 600_000)
    Sweeper(store).sweep_once("bench")
    event = fields_of(client.xrevrange(keys.events("s000000"), count=1)[0][1], EVENT_LINE)
    occurrence = Occurrence("s000000", int(event["tick_ms"]))
    return _Pattern(
        occurrence,
        client.hgetall(keys.schedule("s000000")),
        client.hgetall(keys.occurrence(occurrence)),
        event,
        fields_of(client.xrevrange(keys.runs("s000000"), count=1)[0][1], RUN_LINE),
        client.xrevrange(keys.changes("s000000"), count=1)[0][1],
    )


def _write(store: Store, pattern: _Pattern, first: int, ids: list[str], ticks: list[int]) -> None:
    keys = store.keys
    with store.client.pipeline(transaction=False) as pipe:
        for number, schedule_id in enumerate(ids, first):
            state = "paused" if number % 4 == 1 else "active"
            text = pattern.schedule["definition"].replace("s000000", schedule_id)
            fields: dict[Any, Any] = {**pattern.schedule, "definition": text, "state": state}
            pipe.delete(keys.events(schedule_id), keys.runs(schedule_id), keys.changes(schedule_id))
            pipe.hset(keys.schedule(schedule_id), mapping=fields)
            pipe.zadd(keys.schedules, {schedule_id: 0})
            pipe.zadd(keys.due, {schedule_id: int(pattern.schedule["next_run_ms"])})
            pipe.xadd(keys.changes(schedule_id), _as(pattern.change))
            for tick_ms in reversed(ticks):
                pipe.xadd(keys.events(schedule_id), _line(pattern.event, tick_ms=tick_ms, last_tick_ms=tick_ms))
                own = {"schedule_id": schedule_id, "tick_ms": tick_ms}
                for event, state_after in (("enqueued", "PENDING"), ("succeeded", "SUCCEEDED")):
                    entry = _line(pattern.transition, **own, event=event, state=state_after)
                    pipe.xadd(keys.runs(schedule_id), entry)
                    pipe.xadd(keys.fleet_runs, entry, maxlen=store.settings.fleet_history)
            pipe.hset(keys.occurrence(Occurrence(schedule_id, ticks[0])), mapping=_as(pattern.record))
        pipe.execute()


def _line(pattern: Mapping[str, str], **fields: object) -> dict[Any, Any]:
    return {"line": "\t".join(str(value) for value in {**pattern, **fields}.values())}


def _hold(store: Store, pattern: _Pattern, ids: list[str]) -> None:
    keys = store.keys
    with store.client.pipeline(transaction=False) as pipe:
        for schedule_id in ids:
            since_ms = _since(pattern, schedule_id)
            held = Occurrence(schedule_id, pattern.occurrence.tick_ms)
            why = {"state": "HELD", "hold_reason": "HOLD_LEASE_MISSING", "held_ms": since_ms}
            pipe.hset(keys.occurrence(held), mapping=_as(pattern.record, **why))
            pipe.zadd(keys.holds, {str(held): since_ms})
            pipe.zadd(keys.held(schedule_id), {str(held.tick_ms): held.tick_ms})
            asked = Occurrence(schedule_id, held.tick_ms + 1)
            pipe.hset(keys.occurrence(asked), mapping=_as(pattern.record, state="PENDING", approval="required"))
            pipe.zadd(keys.approvals, {str(asked): since_ms})
        pipe.execute()


def _since(pattern: _Pattern, schedule_id: str) -> int:
    """The last ids first, and ten at the same instant, as a sweep holds them."""
    return pattern.occurrence.tick_ms + (1_000_000 - int(schedule_id[1:])) // 10


def _as(fields: dict[str, str], **changes: Any) -> dict[Any, Any]:
    return {**fields, **changes}
