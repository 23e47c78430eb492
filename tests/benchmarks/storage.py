"""What one schedule costs in Redis, with all its trails full, and what each occurrence costs that is kept.

One schedule is run by a real worker; what it leaves on record is then written many times over, up to every cap.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duly.common.identity import Occurrence
from duly.common.records.trail import EVENT_LINE, fields_of
from duly.common.settings import Settings
from duly.common.store import Store
from tests.benchmarks import processes
from tests.benchmarks.bulk import make_due, plain
from tests.benchmarks.measuring import Comparison, Figures
from tests.fleet.processes import wait_until

AUDIT_KEPT = 100
CHANGES_KEPT = 100
SCHEDULES = 200
"""Schedules that are written in each round; the cost is their mean."""
_FIRST = "bench-00000"


@dataclass(frozen=True)
class Pattern:
    """What one run of one schedule leaves on record."""

    occurrence: Occurrence
    schedule: dict[str, str]
    record: dict[str, str]
    events: list[dict[str, str]]
    runs: list[dict[str, str]]
    changes: list[dict[str, str]]


def measure(rounds: int, size: int) -> Comparison:
    """On a server of its own. ``size`` says nothing here: a schedule costs the same beside any number of others."""
    logging.disable(logging.INFO)
    with processes.server() as url:
        store = Store.connect(Settings(redis_url=url))
        pattern = one_run(store, url)
        rows: dict[str, Figures] = {}
        for _ in range(rounds):
            for name, kib in _round(store, pattern).items():
                rows.setdefault(name, Figures()).rounds.append(kib)
    made = Comparison("Redis memory of one schedule", "KiB", "", rows)
    full = next(name for name in rows if name.startswith("and"))
    made.want("a schedule with full trails, KiB", rows[full].median, "64", "32")
    made.notes += ["an occurrence is kept for DULY_RETENTION_MS after its end, a week by default"]
    return made


def one_run(store: Store, url: str) -> Pattern:
    """A schedule that is due is run by a real worker; what that left on record."""
    store.schedules.add(plain(_FIRST))
    make_due(store)
    with processes.running("duly", "worker", "-m", "tests.benchmarks.work", "--burst", redis_url=url):
        wait_until(lambda: store.schedules.get(_FIRST).last_outcome == "SUCCEEDED", "a worker ran it")
    keys, client = store.keys, store.client

    def lines(key: str) -> list[dict[str, str]]:
        return [fields for _, fields in client.xrange(key)]

    events = lines(keys.events(_FIRST))
    occurrence = Occurrence(_FIRST, int(fields_of(events[0], EVENT_LINE)["tick_ms"]))
    return Pattern(
        occurrence,
        client.hgetall(keys.schedule(_FIRST)),
        client.hgetall(keys.occurrence(occurrence)),
        events,
        lines(keys.runs(_FIRST)),
        lines(keys.changes(_FIRST)),
    )


def _round(store: Store, pattern: Pattern) -> dict[str, float]:
    """KiB for each schedule: itself, then with one full trail after the other; and for an occurrence."""
    keys, history = store.keys, store.settings.schedule_history
    store.client.flushall()
    # Sets and the script cache have sizes of their own that no schedule causes.
    _each(store, lambda pipe, name: _schedule(store, pipe, pattern, name), 10)
    at_first = used_bytes(store)
    steps: dict[str, Callable[[Any, str], object]] = {
        "the schedule itself": lambda pipe, name: _schedule(store, pipe, pattern, name),
        f"+ {CHANGES_KEPT} changes": lambda pipe, name: _lines(pipe, keys.changes(name), pattern.changes, CHANGES_KEPT),
        f"+ {AUDIT_KEPT} audit events": lambda pipe, name: _lines(pipe, keys.events(name), pattern.events, AUDIT_KEPT),
        f"and {history} lines of history": lambda pipe, name: _lines(pipe, keys.runs(name), pattern.runs, history),
    }
    found: dict[str, float] = {}
    for title, write in steps.items():
        _each(store, write)
        found[title] = (used_bytes(store) - at_first) / SCHEDULES / 1024
    before = used_bytes(store)
    _each(store, lambda pipe, name: pipe.hset(keys.occurrence(_of(pattern, name)), mapping=pattern.record))
    found["each occurrence that is kept"] = (used_bytes(store) - before) / SCHEDULES / 1024
    return found


def _schedule(store: Store, pipe: Any, pattern: Pattern, schedule_id: str) -> None:
    text = pattern.schedule["definition"].replace(_FIRST, schedule_id)
    pipe.hset(store.keys.schedule(schedule_id), mapping={**pattern.schedule, "definition": text})
    pipe.zadd(store.keys.schedules, {schedule_id: 0})
    pipe.zadd(store.keys.due, {schedule_id: pattern.occurrence.tick_ms})


def _lines(pipe: Any, key: str, pattern: list[dict[str, str]], count: int) -> None:
    for number in range(count):
        pipe.xadd(key, pattern[number % len(pattern)])


def _each(store: Store, write: Callable[[Any, str], object], others: int = 0) -> None:
    """Write something for every schedule; or for some others, whose names begin differently."""
    names = [f"other-{n:05}" for n in range(others)] or [f"bench-{n:05}" for n in range(SCHEDULES)]
    for name in names:
        with store.client.pipeline(transaction=False) as pipe:
            write(pipe, name)
            pipe.execute()


def _of(pattern: Pattern, schedule_id: str) -> Occurrence:
    return Occurrence(schedule_id, pattern.occurrence.tick_ms)


def used_bytes(store: Store) -> int:
    """What the server keeps, once it has let go of the buffers of a client that wrote much."""
    store.client.connection_pool.disconnect()
    before = -1
    while True:
        now = int(store.client.info("memory")["used_memory"])
        if abs(now - before) <= now / 1000:
            return now
        before = now
        time.sleep(0.1)
