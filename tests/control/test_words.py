"""What the API says about itself and about a refusal can be understood without the code."""

from __future__ import annotations

import fakeredis
from fastapi.testclient import TestClient

from duly.common.store import Store
from duly.scheduler.control.app import create_app
from duly.scheduler.control.security import Access
from tests.control.conftest import ORIGIN
from tests.store.conftest import Bench

RUN = "/api/v1/periodic/docs/run"


def test_every_operation_has_a_summary_of_its_own_that_says_what_it_does() -> None:
    document = create_app(Store(fakeredis.FakeRedis(decode_responses=True), shebang=False)).openapi()
    summaries = [each["summary"] for operations in document["paths"].values() for each in operations.values()]
    assert len(summaries) == len(set(summaries))
    assert {"List schedules", "List holds", "Write or replace schedule", "Resolve hold"} <= set(summaries)
    assert [each for each in summaries if " " not in each] == []


def test_an_extra_run_is_answered_with_its_occurrence(bench: Bench) -> None:
    bench.add()
    with TestClient(create_app(bench.store), base_url=ORIGIN) as client:
        reply = client.post(RUN, headers={"Idempotency-Key": "k"})
    told = reply.json()
    assert reply.status_code == 202
    assert told["schedule_id"] == "docs"
    assert reply.headers["location"].endswith(f"/docs/occurrences/{told['tick_ms']}")


def test_a_token_that_is_wrong_is_told_from_one_that_is_missing(bench: Bench) -> None:
    with TestClient(create_app(bench.store, access=Access("0.0.0.0", "s3cret")), base_url=ORIGIN) as client:
        missing = client.get("/api/v1/fleet")
        wrong = client.get("/api/v1/fleet", headers={"Authorization": "Bearer guess"})
    assert (missing.status_code, wrong.status_code) == (401, 401)
    assert missing.json()["code"] == wrong.json()["code"] == "unauthorized"
    assert "a token is needed" in missing.json()["detail"]
    assert wrong.json()["detail"] == "this token is not accepted"


def test_the_fleet_is_told_by_who_holds_the_duty_and_when_it_was_seen(bench: Bench) -> None:
    bench.store.fleet.beat("dead.s", {"role": "scheduler", "state": "holding"})
    bench.pass_time(40_000)
    bench.store.fleet.beat("tester.s", {"role": "scheduler", "state": "holding"})
    with TestClient(create_app(bench.store), base_url=ORIGIN) as client:
        told = {each["name"]: each["state"] for each in client.get("/api/v1/fleet").json()["workers"]}
        metrics = client.get("/metrics").text
    assert told == {"dead.s": "unseen", "tester.s": "holding"}
    assert 'duly_processes{role="scheduler",state="holding"} 1.0' in metrics
