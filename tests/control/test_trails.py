"""The past over HTTP: events, runs, changes, occurrences, jobs, the fleet."""

from __future__ import annotations

import json
from typing import Any

import fakeredis
import pytest
from rq import Queue
from rq.serializers import DefaultSerializer

from duly.common.identity import Occurrence
from tests.acceptance.conftest import Cli
from tests.control.conftest import Api, problem
from tests.store.conftest import Bench


@pytest.mark.parametrize("name", ["enqueue-events", "runs", "changes"])
def test_nothing_is_on_record_of_a_schedule_that_never_was(api: Api, name: str) -> None:
    problem(api("GET", f"periodic/nobody/{name}"), 404, "schedule_not_found")


def test_pages_of_the_past_stay_right_while_records_come(api: Api, bench: Bench) -> None:
    api.add(spec="@every:1000", overlap="allow")
    for _ in range(5):
        bench.due()
    ticks = [each["tick_ms"] for each in api.get("periodic/docs/enqueue-events", limit=100)["events"]]
    pages = api.pages("periodic/docs/enqueue-events", "events", limit=2)
    found = [each["tick_ms"] for each in next(pages)]
    bench.due()
    found += [each["tick_ms"] for page in pages for each in page]
    assert found == ticks


def test_the_page_without_a_successor_says_so(api: Api, bench: Bench) -> None:
    api.add(spec="@every:1000")
    bench.due()
    assert api.get("periodic/docs/enqueue-events", limit=1)["next_cursor"] is None


def test_a_change_is_recorded_as_the_apis(api: Api) -> None:
    api.add()
    api("PATCH", "periodic/docs", json={"retry_budget": 4})
    changes = api.get("periodic/docs/changes")["changes"]
    assert [(each["what"], each["actor"]) for each in changes] == [("updated", "api"), ("created", "api")]
    assert changes[0]["detail"] == {"fields": {"retry_budget": [3, 4]}}


@pytest.mark.parametrize("place", ["held", "next", "skipped", "done"])
def test_an_occurrence_is_explained_as_by_the_command_line(
    api: Api, bench: Bench, lived_in: Occurrence, place: str
) -> None:
    ahead = bench.store.schedules.get("docs").next_run_ms
    asked = {
        "held": lived_in,
        "next": Occurrence("docs", ahead or 0),
        "skipped": Occurrence("docs", lived_in.tick_ms + 60_000),
        "done": Occurrence("feed", lived_in.tick_ms),
    }[place]
    told = api.get(f"periodic/{asked.schedule_id}/occurrences/{asked.tick_ms}")
    assert told == Cli(bench.store).json("occurrence", str(asked))
    if place == "held":
        assert told["decision"]["decision"] == "HOLD_PRIOR_OUTCOME_UNKNOWN"
        assert len(told["evidence"]) == 18


def test_an_occurrence_of_an_unusable_schedule_is_explained_and_a_tick_that_only_its_definition_knows_is_not(
    api: Api, bench: Bench, lived_in: Occurrence
) -> None:
    pending = Occurrence("feed", bench.events("feed")[0][0])
    for schedule_id in ("docs", "feed"):
        bench.backend.client.hset(bench.store.keys.schedule(schedule_id), "definition", "{}")
    for asked, state in ((lived_in, "HELD"), (pending, "PENDING")):
        told = api.get(f"periodic/{asked.schedule_id}/occurrences/{asked.tick_ms}")
        assert told["state"] == state
        assert told == Cli(bench.store).json("occurrence", str(asked))
    ahead = pending.tick_ms + 60_000
    problem(api("GET", f"periodic/feed/occurrences/{ahead}"), 409, "unusable_schedule")


def test_what_is_no_tick_is_not_found(api: Api) -> None:
    api.add()
    problem(api("GET", "periodic/docs/occurrences/5"), 404, "occurrence_not_found")


def test_a_scheduled_job_names_its_tick_and_an_extra_one_does_not(api: Api, bench: Bench) -> None:
    api.add()
    occurrence = bench.due()
    where = {"schedule_id": "docs", "tick_ms": occurrence.tick_ms}
    scheduled = api.get(f"jobs/duly-docs-{occurrence.tick_ms}-1")
    assert (scheduled["periodic_origin"], scheduled["kind"], scheduled["status"]) == (where, "scheduled", "queued")
    extra = api.post("periodic/docs/run", status=202, headers={"Idempotency-Key": "k"})["job_id"]
    told = api.get(f"jobs/{extra}")
    assert (told["periodic_origin"], told["kind"], told["queue"]) == (None, "manual", "default")
    assert told["occurrence"]["schedule_id"] == "docs"


def test_an_ordinary_job_has_no_origin_and_nothing_of_what_it_is_called_with_is_told(api: Api, bench: Bench) -> None:
    raw = fakeredis.FakeRedis(host=bench.store.client.connection_pool.connection_kwargs["host"])
    queue = Queue("default", connection=raw, serializer=DefaultSerializer)
    job = queue.enqueue("os.system", "secret", job_id="plain", meta={"periodic_schedule_id": 5, "x": b"\xff\x00"})
    told = api.get(f"jobs/{job.id}")
    assert (told["status"], told["periodic_origin"], told["kind"]) == ("queued", None, None)
    assert "secret" not in json.dumps(told)


def test_a_job_that_rq_forgot_is_told_by_the_record_of_its_occurrence(api: Api, bench: Bench) -> None:
    api.add()
    occurrence = bench.due()
    name = f"duly-docs-{occurrence.tick_ms}-1"
    bench.backend.client.delete(f"rq:job:{name}")
    told = api.get(f"jobs/{name}")
    assert (told["status"], told["queue"], told["periodic_origin"]["schedule_id"]) == (None, "default", "docs")
    problem(api("GET", "jobs/duly-docs-5-1"), 404, "job_not_found")
    problem(api("GET", "jobs/nothing"), 404, "job_not_found")


@pytest.mark.parametrize("meta", ["[]", "{", '{"periodic_schedule_id": "docs"}', "[" * 5_000, '{"a": "\\ud800"}'])
def test_a_job_whose_metadata_is_not_ours_has_no_origin(api: Api, bench: Bench, meta: str) -> None:
    bench.backend.client.hset("rq:job:odd", mapping={"status": "queued", "meta": meta})
    assert api.get("jobs/odd")["periodic_origin"] is None


def test_the_fleet_is_told_as_by_the_command_line(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    told: dict[str, Any] = api.get("fleet")
    assert told == Cli(bench.store).json("fleet")
    assert (told["duty"]["holder"], told["holds"]) == ("tester.s", 1)


def test_the_service_says_that_it_is_well(api: Api) -> None:
    assert api.get("/healthz") == {"status": "ok", "store": "ok"}
