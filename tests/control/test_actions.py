"""What is done to schedules over HTTP: paused, resumed, released, run now, previewed."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.store.holds import Resolution
from tests.control.conftest import Api, body, faults, problem
from tests.store.conftest import Bench

START = "2026-01-01T00:00:00Z"
START_MS = 1_767_225_600_000


def run(api: Api, key: str | None = "k", schedule_id: str = "docs", **request: Any) -> Any:
    headers = {**({} if key is None else {"Idempotency-Key": key}), **request.pop("headers", {})}
    return api("POST", f"periodic/{schedule_id}/run", headers=headers, **request)


def test_a_pause_keeps_its_note_and_its_end(api: Api) -> None:
    api.add()
    paused = api.post("periodic/docs/pause", {"note": "moving house", "until": "2026-01-01T02:00:00+01:00"})
    assert (paused["state"], paused["note"], paused["paused_until"]) == (
        "paused",
        "moving house",
        "2026-01-01T01:00:00Z",
    )


@pytest.mark.parametrize(
    ("pause", "field"),
    [({}, "note"), ({"note": " "}, "note"), ({"note": "a\nb"}, "note"), ({"note": "x", "until": "noon"}, "until"),
     ({"note": "x", "until": START}, "until"), ({"note": "x", "why": 1}, "why"), ({"note": 5}, "note")],
    ids=str,
)  # fmt: skip
def test_a_pause_without_a_line_to_say_why_or_with_an_end_that_is_none_is_refused(
    api: Api, pause: dict[str, Any], field: str
) -> None:
    api.add()
    assert faults(problem(api("POST", "periodic/docs/pause", json=pause), 422, "invalid_field")) == [field]


def test_a_resumed_schedule_runs_the_latest_missed_tick_if_asked_and_says_what_it_passed_over(
    api: Api, bench: Bench
) -> None:
    for name in ("docs", "feed"):
        api.add(schedule_id=name)
        api.post(f"periodic/{name}/pause", {"note": "x"})
    bench.pass_time(180_000)
    assert api.post("periodic/docs/resume", {"catch_up": "latest"})["edit"]["dropped"]["count"] == 2
    assert api.post("periodic/feed/resume")["edit"]["dropped"]["count"] == 3
    problem(api("POST", "periodic/docs/resume"), 409, "not_paused")


def test_a_release_runs_the_latest_tick_that_a_quarantine_kept_from_running(api: Api, bench: Bench) -> None:
    api.add()
    held = bench.due()
    bench.running(held, effects=Effects.UNSAFE)
    bench.expire(held)
    bench.sweep()
    bench.due_again()
    for wanted in ("latest", "none"):
        problem(api("POST", "periodic/docs/release", json={"catch_up": wanted}), 423, "held")
    bench.store.holds.resolve(held, Resolution.ABANDONED, "ann", "ticket 1")
    assert api.post("periodic/docs/release")["catch_up_tick_ms"] is None
    assert api.post("periodic/docs/release", {"catch_up": "latest"})["catch_up_tick_ms"] == held.tick_ms + 60_000
    api.post("periodic/docs/pause", {"note": "x"})
    for wanted in ("latest", "none"):
        problem(api("POST", "periodic/docs/release", json={"catch_up": wanted}), 409, "paused")


@pytest.mark.parametrize("action", ["pause", "resume", "release"])
def test_an_action_is_done_to_the_revision_it_names_or_not_at_all(api: Api, action: str) -> None:
    before = api.add()
    said = {"json": {"note": "x"} if action == "pause" else {"catch_up": "latest"}}
    response = api("POST", f"periodic/docs/{action}", headers={"If-Match": '"9"'}, **said)
    problem(response, 412, "precondition_failed")
    assert api.get("periodic/docs") == before
    response = api("POST", f"periodic/docs/{action}", headers={"If-Match": '"1"'}, **said)
    assert response.status_code == (409 if action == "resume" else 200)


def test_an_extra_run_leaves_the_next_run_alone_and_the_same_key_is_the_same_run(api: Api) -> None:
    before = api.add()
    response = run(api)
    made = body(response, 202)
    where = {"schedule_id": "docs", "tick_ms": START_MS - 1}
    assert made == {**where, "job_id": f"duly-docs-{START_MS - 1}-1", "replayed": False}
    assert body(run(api), 202) == {**made, "replayed": True}
    assert body(run(api, "other"), 202)["job_id"] != made["job_id"]
    assert api.get("periodic/docs")["next_run_ms"] == before["next_run_ms"]
    assert api.get(response.headers["location"])["kind"] == "manual"


def test_extra_runs_of_one_instant_are_all_made(api: Api) -> None:
    api.add()
    assert len({body(run(api, f"k{number}"), 202)["job_id"] for number in range(60)}) == 60


def test_the_same_key_with_another_body_is_refused(api: Api) -> None:
    api.add()
    made = body(run(api, json={"why": "a", "for": {"x": 1, "y": 2}}), 202)
    problem(run(api, json={"why": "b"}), 409, "idempotency_conflict")
    problem(run(api), 409, "idempotency_conflict")
    again = run(
        api,
        content=b'{"for": {"y": 2, "x": 1},  "why": "a"}',
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert body(again, 202) == {**made, "replayed": True}


def test_an_absent_body_and_an_empty_one_ask_for_the_same(api: Api) -> None:
    api.add()
    made = body(run(api), 202)
    for payload in ({}, None):
        assert body(run(api, json=payload), 202) == {**made, "replayed": True}


def test_a_key_is_remembered_for_a_day_after_its_run_has_ended(api: Api, bench: Bench) -> None:
    api.add()
    made = body(run(api), 202)["job_id"]
    bench.pass_time(5 * 86_400_000)
    assert body(run(api), 202)["job_id"] == made
    lease = bench.lease(Occurrence("docs", START_MS - 1))
    bench.begin(lease)
    bench.store.attempts.complete(lease, "done")
    bench.pass_time(86_399_000)
    assert body(run(api), 202)["job_id"] == made
    bench.pass_time(2_000)
    assert body(run(api), 202)["job_id"] != made


def test_a_run_without_a_key_or_with_an_unusable_one_is_a_bad_request(api: Api) -> None:
    api.add()
    problem(run(api, None), 400, "idempotency_key_required")
    problem(run(api, ""), 400, "bad_header")
    problem(run(api, "k" * 201), 400, "bad_header")
    problem(run(api, "k\u0085".encode("latin-1")), 400, "invalid_field")  # type: ignore[arg-type]


def test_an_extra_run_passes_by_no_hold_no_pause_and_no_full_queue(
    api: Api, bench: Bench, lived_in: Occurrence
) -> None:
    assert "docs" in run(api).json()["detail"]
    problem(run(api), 423, "held")
    problem(run(api, schedule_id="paused"), 409, "paused")
    problem(run(api, schedule_id="nobody"), 404, "schedule_not_found")
    api.app.state.control.changing.manual._queue_limit = 1
    response = run(api, schedule_id="feed")
    problem(response, 429, "backpressure")
    assert response.headers["retry-after"] == "1"


def test_a_preview_shows_ticks_inside_the_bounds_in_the_zone(api: Api) -> None:
    api.add(spec="CRON_TZ=Europe/Berlin 0 12 * * *", end_at="2026-01-02T23:00:00Z")
    preview = api.get("periodic/docs/preview", count=5)
    assert preview["timezone"] == "Europe/Berlin"
    assert [tick["local"] for tick in preview["ticks"]] == ["2026-01-01T12:00:00+01:00", "2026-01-02T12:00:00+01:00"]
    assert api.get("periodic/docs/preview", after="2026-01-02T11:00:00Z")["ticks"] == []
    assert faults(problem(api("GET", "periodic/docs/preview?after=soon"), 422, "invalid_field")) == ["after"]


def test_an_unsaved_spec_is_previewed_and_a_wrong_one_names_its_part(api: Api, bench: Bench) -> None:
    asked = {"spec": "30 2 * * *", "after": "2026-03-28T00:00:00Z", "count": 2}
    ticks = api.post("preview", asked)["ticks"]
    assert [tick["utc"] for tick in ticks] == ["2026-03-28T02:30:00Z", "2026-03-29T02:30:00Z"]
    assert api.post("preview", {"spec": "@every:60000", "count": 1})["ticks"][0]["tick_ms"] == START_MS + 60_000
    wrong = problem(api("POST", "preview", json={"spec": "0 25 * * *"}), 422, "invalid_spec")
    assert faults(wrong) == ["spec.hour"]
    bench.store.client.connection_pool.disconnect()
    assert faults(problem(api("POST", "preview", json={"spec": "0 * * * *", "count": 1001}), 422, "invalid_field")) == [
        "count"
    ]
