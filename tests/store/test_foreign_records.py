"""What something else has written among our records: it is named in the log, and hides none of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from duly.common.errors import StoreProtocolError
from duly.common.explain.occurrence import explain_occurrence
from duly.common.identity import Occurrence
from duly.common.store.schedule_reader import UnusableSchedule
from tests.store.conftest import Bench

RUN = "began\tdocs\t5\tRUNNING\t1\t7\t6\tCALENDAR_RUN_REVIEW_REQUIRED\tw@1"
EVENT = "5\tenqueued\taccepted\t\t1\t5\t5\t6\t6"
CHANGE = {"what": "paused", "actor": "api", "revision": "2", "detail": "{}", "at_ms": "6"}
NO_INSTANT = "9" * 17
FOREIGN: dict[str, list[dict[str, str]]] = {
    "runs": [
        {"x": "y"},
        {"line": "one word"},
        {"line": RUN.replace("\t5\t", "\tfive\t")},
        {"line": RUN.replace("\t6\t", f"\t{NO_INSTANT}\t")},
        {"line": RUN.replace("\t6\t", "\t-6\t")},
    ],
    "events": [
        {"x": "y"},
        {"line": "one word"},
        {"line": EVENT.replace("5", "five")},
        {"line": EVENT.replace("6", NO_INSTANT)},
        {"line": f"{EVENT}\tmore"},
    ],
    "changes": [
        {"x": "y"},
        {**CHANGE, "revision": "two"},
        {**CHANGE, "at_ms": NO_INSTANT},
        *({**CHANGE, "detail": detail} for detail in ("{", "[]", '{"a": NaN}', "[" * 100_000)),
        *(
            {**CHANGE, "detail": f'{{"fields": {fields}}}'}
            for fields in ("7", '["spec"]', '{"spec": 7}', '{"spec": [1]}')
        ),
    ],
}


@pytest.fixture
def trails(bench: Bench) -> dict[str, tuple[str, Callable[..., Any]]]:
    """By its name a trail's key, and how its pages are read."""
    keys, store = bench.store.keys, bench.store.trails
    return {
        "runs": (keys.runs("docs"), lambda *where: store.runs("docs", *where)),
        "fleet runs": (keys.fleet_runs, lambda *where: store.runs(None, *where)),
        "events": (keys.events("docs"), lambda *where: store.events("docs", *where)),
        "changes": (keys.changes("docs"), lambda *where: store.changes("docs", *where)),
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize("trail", ["runs", "fleet runs", "events", "changes"])
def test_the_pages_of_a_trail_lead_past_entries_that_are_none_of_ours(
    bench: Bench,
    trails: dict[str, tuple[str, Callable[..., Any]]],
    caplog: pytest.LogCaptureFixture,
    trail: str,
    limit: int,
) -> None:
    bench.add(missed_run_policy="backfill", backfill_limit=100)  # none gives way to a later tick meanwhile
    bench.running(bench.due())
    key, read = trails[trail]
    (_, ours), *_ = bench.backend.client.xrange(key)
    foreign = FOREIGN[trail.removeprefix("fleet ")]
    wanted = [name for name, _ in bench.backend.client.xrange(key)]
    for entry in foreign:
        bench.backend.client.xadd(key, entry)
        wanted.append(bench.backend.client.xadd(key, ours))
    bench.backend.client.xadd(key, foreign[0])
    found, cursor = read(limit)
    while cursor is not None:
        page, cursor = read(limit, cursor)
        assert len(page) <= limit
        found += page
    assert [record.cursor for record in found] == wanted[::-1]
    assert all(record.to_dict() for record in found)
    assert [record.getMessage().split()[3] for record in caplog.records if record.levelno == logging.WARNING] == [
        key
    ] * (len(foreign) + 1)


def test_following_goes_on_behind_entries_that_are_none_of_ours(bench: Bench) -> None:
    key, client = bench.store.keys.runs("docs"), bench.backend.client
    foreign = [client.xadd(key, {"x": "y"}) for _ in range(3)]
    after = bench.store.trails.runs_after
    assert after("0-0", "docs", block_ms=10, limit=2) == ([], foreign[1])
    assert after(foreign[1], "docs", block_ms=10, limit=2) == ([], foreign[2])
    ours = client.xadd(key, {"line": RUN})
    client.xadd(key, {"x": "y"})
    events, cursor = after(foreign[2], "docs", block_ms=10)
    assert [event.cursor for event in events] == [ours]
    assert after(cursor, "docs", block_ms=10) == ([], cursor)


@pytest.mark.parametrize("said", ["", "not json", "[]", '"text"', "7", "null", '{"a": NaN}', "[" * 100_000])
def test_a_process_that_says_nothing_we_know_hides_no_other(
    bench: Bench, caplog: pytest.LogCaptureFixture, said: str
) -> None:
    for name in ("a.1", "b.1"):
        bench.store.fleet.beat(name, {"role": "worker", "name": "another"})
    bench.backend.client.set(bench.store.keys.worker("a.1"), said)
    assert [each["name"] for each in bench.store.fleet.snapshot()["workers"]] == ["b.1"]
    assert ("a.1" in caplog.text) is (said != "")  # empty is as good as gone


def test_a_process_that_was_seen_at_no_instant_hides_no_other(bench: Bench) -> None:
    for name in ("a.1", "b.1"):
        bench.store.fleet.beat(name, {"role": "worker"})
    bench.backend.client.zadd(bench.store.keys.workers, {"a.1": float("inf")})
    assert [each["name"] for each in bench.store.fleet.snapshot()["workers"]] == ["b.1"]


@pytest.mark.parametrize(("field", "value"), [("fence", "x"), ("since_ms", NO_INSTANT), ("holder", None)])
def test_a_duty_that_the_scripts_did_not_write_is_one_clear_error(bench: Bench, field: str, value: str | None) -> None:
    key = bench.store.keys.duty_holder
    if value is None:
        bench.backend.client.hdel(key, field)
    else:
        bench.backend.client.hset(key, field, value)
    with pytest.raises(StoreProtocolError, match="the record of the duty"):
        bench.store.fleet.snapshot()


def two_held(bench: Bench) -> list[Occurrence]:
    """A held occurrence of each of two schedules, of which the test is going to spoil something."""
    bench.doctored = True
    held = []
    for name in ("a", "b"):
        bench.add(schedule_id=name, spec="@every:100", missed_run_policy="backfill", backfill_limit=100)
        held.append(bench.due(name))
        bench.store.attempts.relinquish(bench.running(held[-1]), "timeout")
    return held


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_what_names_no_occurrence_among_the_holds_hides_none_of_them(bench: Bench, limit: int) -> None:
    held = two_held(bench)
    holds, client = bench.store.keys.holds, bench.backend.client
    client.zadd(holds, {"": 0, "x": 0, "UPPER@1": 0, "a:b": 1, "x@y": 2})
    client.zadd(holds, {"zz": client.zscore(holds, str(held[0])), "last": 2**50})
    found, after = bench.store.holds.page(limit)
    while after is not None:
        page, after = bench.store.holds.page(limit, after)
        found += page
    assert [record.occurrence for record in found] == held


@pytest.mark.parametrize("field", ["enqueued_ms", "held_ms", "began_ms"])
def test_an_occurrence_with_an_instant_that_is_none_hides_no_other_hold(bench: Bench, field: str) -> None:
    held = two_held(bench)
    bench.backend.client.hset(bench.store.keys.occurrence(held[0]), field, NO_INSTANT)
    assert [record.to_dict()["schedule_id"] for record in bench.store.holds.page(10)[0]] == ["b"]


@pytest.mark.parametrize("field", ["next_run_ms", "last_run_ms", "created_ms", "updated_ms", "paused_until_ms"])
def test_a_schedule_with_an_instant_that_is_none_is_unusable_and_hides_no_other(bench: Bench, field: str) -> None:
    for name in ("a", "b"):
        bench.add(schedule_id=name)
    bench.backend.client.hset(bench.store.keys.schedule("a"), field, NO_INSTANT)
    assert [record.to_dict()["schedule_id"] for record in bench.store.schedules.page(10)[0]] == ["b"]
    with pytest.raises(UnusableSchedule):
        bench.store.schedules.get("a")
    bench.store.schedules.delete("a")


def test_a_tick_without_a_history_of_ours_is_still_explained(bench: Bench) -> None:
    bench.add()
    occurrence = bench.due()
    bench.backend.client.xadd(bench.store.keys.runs("docs"), {"x": "y"})
    told = explain_occurrence(bench.store, occurrence)
    assert [event.event for event in told.timeline] == ["enqueued"]
