"""Schedules by the thousand, written by the store's own script, which a pipeline brings to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import redis

from duly.common.errors import ScheduleExists
from duly.common.records.definition import ScheduleDefinition, define
from duly.common.store import Store
from duly.common.store.scripts import Scripts, Value
from duly.common.store.terms import terms_of

DAY_MS = 86_400_000
"""The period of plain schedules: long, or one of them would be due again while it is measured."""
_PART = 500
_DUE_PART = 5_000
_COPY = """
for at = 2, #ARGV do
  redis.call('COPY', ARGV[at], ARGV[at], 'DB', ARGV[1])
end
"""
_EARLIER = """
for at = 2, #ARGV do
  local instant = redis.call('ZSCORE', KEYS[1], ARGV[at])
  local earlier = string.format('%.0f', instant - ARGV[1])
  redis.call('HSET', KEYS[2] .. ARGV[at], 'next_run_ms', earlier)
  redis.call('ZADD', KEYS[1], earlier, ARGV[at])
end
"""


def plain(schedule_id: str, **fields: Any) -> ScheduleDefinition:
    """A schedule that is due at midnight UTC, unless ``fields`` say otherwise."""
    usual = {
        "schedule_id": schedule_id,
        "spec": f"@every:{DAY_MS}",
        "task": "bench.task",
        "missed_run_policy": "run_once",
        "review_owner": "bench",
    }
    return define({**usual, **fields})


def copy_all(url: str, source: int, target: int) -> None:
    """Every key of one database of the server into another, which must be empty: faster than writing it again."""
    with redis.Redis.from_url(urlsplit(url)._replace(path=f"/{source}").geturl()) as reader:
        names = list(reader.scan_iter(count=_DUE_PART))
        for first in range(0, len(names), _DUE_PART):
            reader.eval(_COPY, 0, target, *names[first : first + _DUE_PART])


def daily(count: int, stem: str = "s") -> Iterator[ScheduleDefinition]:
    """As many plain schedules; their ids are the stem and a number."""
    return (plain(f"{stem}{number}") for number in range(count))


def add_all(store: Store, definitions: Iterable[ScheduleDefinition], *, shebang: bool = True) -> None:
    """What `store.schedules.add` does for each, hundreds in a round trip. Raises ScheduleExists.

    ``shebang`` False is for fakeredis, as for `Store`.
    """
    scripts = Scripts(store.client, store.settings, shebang=shebang, actor="python")
    remaining = iter(definitions)
    while part := list(islice(remaining, _PART)):
        while part:
            part = _added(store, scripts, part)


def _added(store: Store, scripts: Scripts, part: Sequence[ScheduleDefinition]) -> list[ScheduleDefinition]:
    """Those whose first tick came before they were written; they must be written again."""
    now_ms = store.schedules.now_ms()
    with store.client.pipeline(transaction=False) as pipe:
        for definition in part:
            scripts.queue(pipe, "add_schedule", **_arguments(definition, now_ms))
        replies = pipe.execute()
    words = [scripts.check("add_schedule", reply)[0] for reply in replies]
    if "exists" in words:
        raise ScheduleExists(part[words.index("exists")].schedule_id)
    return [definition for definition, word in zip(part, words, strict=True) if word == "again"]


def _arguments(definition: ScheduleDefinition, now_ms: int) -> dict[str, Value]:
    next_ms = definition.timetable.next_after(now_ms)
    return {
        "schedule_id": definition.schedule_id,
        "definition": definition.to_json(),
        "terms": terms_of(definition),
        "next_run_ms": "" if next_ms is None else str(next_ms),
        "due_ms": "" if next_ms is None else str(definition.timetable.release_ms(next_ms)),
        "state": "active",
        "note": "",
        "paused_until_ms": "",
    }


def make_due(store: Store, schedule_ids: Sequence[str] | None = None, period_ms: int = DAY_MS) -> None:
    """One period back for these schedules, or for all: as after a period in which nobody swept."""
    client, keys = store.client, store.keys
    wanted = client.zrange(keys.due, 0, -1) if schedule_ids is None else list(schedule_ids)
    for first in range(0, len(wanted), _DUE_PART):
        client.eval(_EARLIER, 2, keys.due, keys.schedule(""), period_ms, *wanted[first : first + _DUE_PART])
