"""Fleets for benchmarks are what the store itself would have written."""

from __future__ import annotations

from itertools import chain, repeat
from typing import Any

import pytest

from duly.common.errors import ScheduleExists
from duly.common.store import Store
from duly.scheduler.sweep import Sweeper
from tests.benchmarks.bulk import DAY_MS, add_all, copy_all, daily, make_due, plain
from tests.benchmarks.passes import Looks
from tests.conftest import Backend


def everything(store: Store) -> dict[str, Any]:
    """All that is in the store, streams with their ids too."""
    client = store.client
    readers = {
        "hash": client.hgetall,
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        "stream": client.xrange,
        "string": client.get,
    }
    return {key: readers[client.type(key)](key) for key in sorted(client.scan_iter(match="*"))}


def test_what_is_written_at_once_is_what_add_writes(fake: Backend) -> None:
    definitions = [
        *daily(3),
        plain("jitter", jitter_window_ms=60_000),
        plain("cron", spec="CRON_TZ=Europe/Paris 0 9 * * *", kwargs={"path": "docs"}),
        plain("over", end_at="2020-01-01T00:00:00Z"),
    ]
    store = fake.store()
    for definition in definitions:
        store.schedules.add(definition)
    one_by_one = everything(store)
    store.client.flushall()
    add_all(store, definitions, shebang=False)
    assert everything(store) == one_by_one
    assert len(one_by_one) > len(definitions)


def test_a_tick_that_comes_while_they_are_written_is_no_first_tick(
    fake: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fake.store()
    now_ms = store.schedules.now_ms()
    clock = chain([now_ms - 5_000], repeat(now_ms))
    monkeypatch.setattr(store.schedules, "now_ms", lambda: next(clock))
    add_all(store, [plain("quick", spec="@every:1000"), plain("s1")], shebang=False)
    assert (store.schedules.get("quick").next_run_ms or 0) > now_ms
    assert store.client.zcard(store.keys.schedules) == 2


def test_a_schedule_that_is_there_is_not_written_again(fake: Backend) -> None:
    store = fake.store()
    store.schedules.add(plain("s1"))
    with pytest.raises(ScheduleExists, match="s1"):
        add_all(store, daily(3), shebang=False)


def test_what_is_made_due_stands_one_period_back_and_is_dispatched(fake: Backend) -> None:
    store = fake.store()
    add_all(store, daily(5), shebang=False)
    before = {name: store.schedules.get(name).next_run_ms or 0 for name in ("s0", "s1", "s4")}
    make_due(store, ["s0", "s4"])
    after = {name: store.schedules.get(name).next_run_ms or 0 for name in before}
    assert after == {"s0": before["s0"] - DAY_MS, "s1": before["s1"], "s4": before["s4"] - DAY_MS}
    store.sweeping.claim_duty("t", "t", 60_000)
    done = Sweeper(store).sweep_once("t")
    assert done is not None
    assert done.ticks == 2
    make_due(store)
    done = Sweeper(store).sweep_once("t")
    assert done is not None
    assert done.ticks == 5


def test_one_look_among_many_finds_nothing_or_the_one_that_is_due(valkey: Backend) -> None:
    assert valkey.url is not None
    looks = Looks.of(valkey.url, "looks", 50, 3)
    looks.idle()
    for _ in range(3):
        looks.make_one_due()
        looks.one_due()
    looks.idle()
    assert looks.store.client.llen("rq:queue:default") == 3


def test_what_is_copied_from_a_database_is_what_was_there(valkey: Backend) -> None:
    store = valkey.store()
    add_all(store, daily(20))
    make_due(store)
    before = everything(store)
    assert valkey.url is not None
    copy_all(valkey.url, 0, 3)
    store.client.flushdb()
    copy_all(valkey.url, 3, 0)
    assert everything(store) == before
