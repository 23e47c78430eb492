"""Lists cost what a page costs, however much there is: counted in commands to Redis and bytes of replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duly.common.identity import Occurrence
from tests.conftest import Backend
from tests.control.conftest import Api, counted, make
from tests.store.conftest import Bench, definition

pytestmark = pytest.mark.server

SOME, MANY = 100, 10_000
RECORDS = 30_000
"""Three times what the longest history keeps."""
PATHS = ["periodic", "periodic?limit=100", "holds", "fleet", "/metrics", "periodic/s00000", "/healthz"]


@pytest.fixture
def bench(valkey: Backend) -> Bench:
    """A real server: it takes so many records in moments."""
    return Bench(valkey, valkey.store())


@pytest.fixture
def api(bench: Bench) -> Api:
    return Api(make(bench.store))


def fill(bench: Bench, schedules: int) -> None:
    """Many schedules, written as the scripts write them."""
    bench.store.schedules.add(definition(schedule_id="s00000", spec="@every:60000"))
    keys, client = bench.store.keys, bench.backend.client
    template: dict[str, Any] = client.hgetall(keys.schedule("s00000"))
    pipe = client.pipeline(transaction=False)
    for number in range(1, schedules):
        name = f"s{number:05}"
        text = template["definition"].replace("s00000", name)
        pipe.hset(keys.schedule(name), mapping={**template, "definition": text})
        pipe.zadd(keys.schedules, {name: 0})
        pipe.zadd(keys.due, {name: float(template["due_ms"]) if "due_ms" in template else 0})
    pipe.execute()


def cost(api: Api, path: str) -> tuple[int, int]:
    """Commands to Redis and bytes of the reply."""
    with counted() as commands:
        response = api("GET", path)
    assert response.status_code == 200
    assert commands
    return len(commands), len(response.content)


def test_ten_thousand_schedules_cost_a_page_what_a_hundred_cost(api: Api, bench: Bench) -> None:
    fill(bench, SOME)
    api.get("holds")  # its script is sent to the server once
    before = {path: cost(api, path) for path in PATHS}
    bench.backend.client.flushall()
    bench.take_duty()
    fill(bench, MANY)
    for path in PATHS:
        commands, size = cost(api, path)
        assert commands == before[path][0], path
        assert size == pytest.approx(before[path][1], rel=0.05, abs=40), path
    assert api.get("fleet")["schedules"] == MANY


def test_more_records_than_any_history_keeps_cost_a_page_what_some_cost(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:100")
    bench.due()
    stream, client = bench.store.keys.fleet_runs, bench.backend.client
    paths = ["periodic/docs/runs?limit=100", "/metrics"]
    entry = client.xrevrange(bench.store.keys.runs("docs"), count=1)[0][1]

    def write(records: int) -> None:
        pipe = client.pipeline(transaction=False)
        for _ in range(records):
            pipe.xadd(stream, entry)
            pipe.xadd(bench.store.keys.runs("docs"), entry)
        pipe.execute()

    write(1_500)
    before = {path: cost(api, path) for path in paths}
    write(RECORDS)
    bench.take_duty()  # it may be over by now
    for path in paths:
        commands, size = cost(api, path)
        assert commands == before[path][0]
        assert size == pytest.approx(before[path][1], rel=0.05)


def test_a_page_of_many_holds_is_no_larger_than_a_page(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:100")
    held = bench.due()
    client, keys = bench.backend.client, bench.store.keys
    fields = {**client.hgetall(keys.occurrence(held)), "state": "HELD", "hold_reason": "HOLD_LEASE_MISSING"}
    pipe = client.pipeline(transaction=False)
    for number in range(2_000):
        each = Occurrence("docs", number)
        pipe.hset(keys.occurrence(each), mapping=fields)
        pipe.zadd(keys.holds, {str(each): number})
    pipe.execute()
    commands, size = cost(api, "holds?limit=10")
    assert commands < 20
    assert size < 40_000
    seen = [each["tick_ms"] for page in api.pages("holds", "holds", limit=100) for each in page]
    assert seen == list(range(2_000))


def test_metrics_have_as_many_series_whatever_the_queues_and_processes_are_called(api: Api, bench: Bench) -> None:
    client = bench.backend.client
    for number in range(300):
        client.sadd("rq:queues", f"rq:queue:q{number}")
        client.rpush(f"rq:queue:q{number}", *range(number + 1))
        bench.store.fleet.beat(f"w{number}", {"role": f"role{number}", "state": f"<{number}>", "queues": []})
    text = api("GET", "/metrics").text
    queues = [line for line in text.splitlines() if line.startswith("duly_queue_depth{")]
    assert len(queues) == 51
    assert 'duly_queue_depth{queue="q299"} 300.0' in queues
    assert f'duly_queue_depth{{queue="(others)"}} {float(sum(range(1, 251)))}' in queues
    assert 'duly_processes{role="other",state="other"} 300.0' in text
    assert len(text.splitlines()) < 150
    assert json.dumps(text).count("role1") == 0
