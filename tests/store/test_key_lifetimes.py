"""Every key has a time to live, a cap, or a place on the permanent list."""

from __future__ import annotations

from fnmatch import fnmatchcase

from duly.common.records.occurrence import Effects
from duly.common.store.holds import Resolution
from duly.common.store.keys import LIFETIMES, Lifetime
from tests.store.conftest import Bench


def live(bench: Bench) -> None:
    """A little of everything that a fleet does."""
    patient = {"spec": "@every:100", "missed_run_policy": "backfill", "backfill_limit": 9}
    bench.add(**patient, overlap="allow", retry_budget=2, backoff={"base_ms": 0})
    bench.add(**patient, schedule_id="other")
    bench.store.attempts.complete(bench.running(bench.due()), "ref")
    bench.store.attempts.fail(bench.running(bench.due()), "ValueError")
    bench.sweep()
    bench.running(bench.due(), effects=Effects.IDEMPOTENT)
    bench.store.schedules.update("docs", {"queue": "q2"})
    bench.store.manual.run("docs", "key")
    held = bench.due("other")
    bench.store.attempts.relinquish(bench.running(held), "timeout")
    bench.store.fleet.beat("w.1", {"role": "worker"})
    bench.store.holds.resolve(held, Resolution.NO_COMMITTED_RESULT, "ann", "seen")
    bench.store.schedules.pause("other", "why", bench.store.schedules.now_ms() + 60_000)


def kind_of(key: str) -> Lifetime:
    """The most specific pattern that names the key; fails when there is none."""
    name = key.removeprefix("duly:")
    matching = [pattern for pattern in LIFETIMES if fnmatchcase(name, pattern)]
    assert matching, f"{key} is on no list"
    return LIFETIMES[max(matching, key=len)]


def test_every_key_the_fleet_writes_is_on_the_list_and_as_bounded_as_it_says(bench: Bench) -> None:
    live(bench)
    client = bench.backend.client
    seen = set()
    for key in client.keys("duly*"):
        kind = kind_of(key)
        seen.add(kind)
        if kind is Lifetime.TTL:
            assert client.pttl(key) > 0, key
        elif kind is Lifetime.CAPPED:
            assert client.type(key) == "stream", key
    assert seen == set(Lifetime)


def test_what_belongs_to_open_occurrences_goes_with_the_last_of_them(fake_bench: Bench) -> None:
    live(fake_bench)
    store, client = fake_bench.store, fake_bench.backend.client
    for schedule_id in ("docs", "other"):
        for key in ("pending", "active", "held"):
            for tick in client.zrange(getattr(store.keys, key)(schedule_id), 0, -1):
                client.delete(f"duly:lease:{schedule_id}@{tick}")
        store.schedules.delete(schedule_id)
    for _ in range(20):
        fake_bench.pass_time(400_000)
        fake_bench.sweep()
        for record in store.holds.page(100)[0]:
            store.holds.resolve(record.occurrence, Resolution.ABANDONED, "ann", "seen")
    fake_bench.pass_time(8 * 86_400_000)
    left = {key for key in client.keys("duly*") if kind_of(key) is Lifetime.OPEN}
    assert left == set()
    assert client.zcard(store.keys.watch) == 0


def test_a_schedule_that_was_deleted_leaves_its_trail_and_nothing_else(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.attempts.complete(fake_bench.running(fake_bench.due()), "")
    fake_bench.store.schedules.delete("docs")
    fake_bench.pass_time(8 * 86_400_000)
    left = {key for key in fake_bench.backend.client.keys("duly*") if "docs" in key}
    assert left == {"duly:events:docs", "duly:runs:docs", "duly:changes:docs"}
