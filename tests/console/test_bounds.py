"""With ten thousand schedules a page asks as much of Redis, and is as long, as with a hundred."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from redis.client import Pipeline

from duly.common.records.definition import define
from duly.common.store.terms import terms_of
from tests.console.conftest import Console
from tests.store.conftest import DEFAULTS, Bench

LONGEST_PAGE = 400_000


class Counting:
    """Counts the commands that are sent, those in pipelines one by one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands = 0
        one, many = redis.Redis.execute_command, Pipeline.execute

        def counted_one(client: Any, *args: Any, **options: Any) -> Any:
            self.commands += 1
            return one(client, *args, **options)

        def counted_many(pipe: Any, *args: Any, **options: Any) -> Any:
            self.commands += len(pipe.command_stack)
            return many(pipe, *args, **options)

        monkeypatch.setattr(redis.Redis, "execute_command", counted_one)
        monkeypatch.setattr(Pipeline, "execute", counted_many)

    def during(self, console: Console, path: str) -> tuple[int, int]:
        """(commands, bytes) of one page."""
        self.commands = 0
        page = console.get(path)
        return self.commands, len(page.html)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return Counting(monkeypatch)


def write_many(bench: Bench, first: int, end: int) -> None:
    """Schedules as the store writes them, without asking it one by one."""
    one = bench.add(schedule_id="s00000", spec="@every:3600000") if first == 0 else None
    keys, client = bench.store.keys, bench.backend.client
    pattern = client.hgetall(keys.schedule("s00000"))
    assert one is None or pattern["definition"] == one.definition.to_json()
    pipe = client.pipeline(transaction=False)
    for number in range(max(1, first), end):
        schedule_id = f"s{number:05}"
        definition = define({**DEFAULTS, "schedule_id": schedule_id, "spec": "@every:3600000"})
        pipe.hset(keys.schedule(schedule_id), mapping={**pattern, "definition": definition.to_json()})
        pipe.zadd(keys.schedules, {schedule_id: 0})
        pipe.zadd(keys.due, {schedule_id: int(pattern["next_run_ms"])})
    pipe.execute()
    assert terms_of(definition)


def test_ten_thousand_schedules_cost_no_more_than_a_hundred(console: Console, bench: Bench, counting: Counting) -> None:
    write_many(bench, 0, 100)
    paths = ["/", "/schedules", "/schedules/s00050", "/holds", "/schedules?q=ann&state=active"]
    for path in paths:
        console.get(path)  # a script is sent to the server once
    before = {path: counting.during(console, path) for path in paths}
    write_many(bench, 100, 10_000)
    for path in paths:
        commands, size = counting.during(console, path)
        assert commands == before[path][0], path
        assert size <= before[path][1] + 200 <= LONGEST_PAGE, path
        assert commands <= 150, path


def test_a_search_looks_through_a_bounded_part_and_goes_on_where_it_stopped(
    console: Console, bench: Bench, counting: Counting
) -> None:
    write_many(bench, 0, 3_000)
    console.get("/schedules?q=ann")  # a script is sent to the server once
    assert counting.during(console, "/schedules?q=ann&state=paused")[0] <= 8
    path, looks = "/schedules?q=02999", 0
    while True:
        page = console.get(path)
        looks += 1
        if "/schedules/s02999" in page.links:
            break
        (path,) = [link for link in page.links if "cursor=" in link]
    assert looks == 3
    assert "/schedules/s02999" in console.get("/schedules?q=s0299").links  # ids that begin so are found at once


def test_pages_follow_one_another_and_miss_nobody(console: Console, bench: Bench) -> None:
    write_many(bench, 0, 60)
    seen, path = list[str](), "/schedules"
    while path:
        page = console.get(path)
        seen += [link for link in page.links if link.startswith("/schedules/s")]
        path = next((link for link in page.links if "cursor=" in link), "")
    assert seen == [f"/schedules/s{number:05}" for number in range(60)]


def test_a_long_history_makes_no_long_page(console: Console, bench: Bench, counting: Counting) -> None:
    bench.add(spec="@every:60000", missed_run_policy="skip")
    for _ in range(120):
        bench.due()
    commands, size = counting.during(console, "/schedules/docs")
    assert size <= LONGEST_PAGE
    assert commands <= 60
