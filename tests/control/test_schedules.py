"""Schedules over HTTP: listed, written, replaced, changed, deleted, each change bound to what its maker saw."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.records.definition import ScheduleDefinition
from tests.control.conftest import DOCS, RESTATED, Api, body, faults, problem
from tests.store.conftest import Bench


def test_a_new_schedule_is_answered_with_its_address_and_its_revision(api: Api) -> None:
    response = api("POST", "periodic", json=DOCS)
    written = body(response, 201)
    assert (response.headers["location"], response.headers["etag"]) == ("/api/v1/periodic/docs", '"1"')
    assert {name: written[name] for name in DOCS} == DOCS
    again = api("GET", "periodic/docs")
    assert (again.json(), again.headers["etag"]) == (written, '"1"')


def test_a_schedule_that_is_there_is_not_written_again(api: Api) -> None:
    api.add()
    problem(api("POST", "periodic", json=DOCS), 409, "schedule_exists")


def test_every_field_at_fault_is_named(api: Api) -> None:
    wrong = {"schedule_id": "A", "spec": "@every:60000", "task": "x", "missed_run_policy": "maybe", "retry_budget": 0}
    found = problem(api("POST", "periodic", json=wrong), 422, "invalid_field")
    assert sorted(faults(found)) == ["missed_run_policy", "retry_budget", "review_owner", "schedule_id"]


def test_a_spec_at_fault_names_its_part(api: Api) -> None:
    found = problem(api("POST", "periodic", json={**DOCS, "spec": "0 99 * * *"}), 422, "invalid_field")
    assert faults(found) == ["spec.hour"]


def test_a_put_writes_what_is_not_there_and_replaces_what_is(api: Api) -> None:
    fields = {name: value for name, value in DOCS.items() if name != "schedule_id"}
    assert api("PUT", "periodic/docs", json={**fields, "retry_budget": 7}).status_code == 201
    replaced = body(api("PUT", "periodic/docs", json=fields), 200)
    assert (replaced["retry_budget"], replaced["revision"]) == (3, 2)


def test_a_put_is_about_the_schedule_in_its_address(api: Api) -> None:
    assert faults(problem(api("PUT", "periodic/other", json=DOCS), 422, "invalid_field")) == ["schedule_id"]


def test_a_patch_changes_the_named_fields_and_no_other(api: Api) -> None:
    before = api.add(retry_budget=7, kwargs={"path": "a", "depth": {"most": 2}})
    patch = {"overlap": "allow", "kwargs": {"path": None, "depth": {"least": 1}}, "retry_budget": None}
    response = api("PATCH", "periodic/docs", json=patch, headers={"Content-Type": "application/merge-patch+json"})
    after = body(response, 200)
    assert after["kwargs"] == {"depth": {"most": 2, "least": 1}}
    assert (after["overlap"], after["retry_budget"], after["revision"]) == ("allow", 3, 2)
    same = set(before) - {"overlap", "kwargs", "retry_budget", "revision", "updated_at"}
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_an_empty_patch_is_refused(api: Api) -> None:
    api.add()
    problem(api("PATCH", "periodic/docs", json={}), 422, "invalid_field")


def test_a_patch_of_part_of_the_backoff_keeps_the_rest(api: Api) -> None:
    api.add(backoff={"base_ms": 5, "factor": 3, "max_ms": 10})
    assert body(api("PATCH", "periodic/docs", json={"backoff": {"base_ms": 7}}), 200)["backoff"] == {
        "base_ms": 7,
        "factor": 3,
        "max_ms": 10,
    }


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_another_model_must_restate_what_it_answers_for_and_each_silent_field_is_named(api: Api, method: str) -> None:
    api.add()
    calendar = {"spec": "0 9 * * *", "task": "docs.refresh", "review_owner": "ann"}
    found = problem(api(method, "periodic/docs", json={**calendar, "retry_budget": 2}), 422, "invalid_field")
    assert faults(found) == ["missed_run_policy", "jitter_window_ms", "lease_ttl_ms", "backoff"]
    assert api.get("periodic/docs")["spec"] == DOCS["spec"]
    assert body(api(method, "periodic/docs", json={**calendar, **RESTATED}), 200)["schedule_type"] == "calendar"


def test_an_edit_says_what_it_did_to_the_next_run(api: Api, bench: Bench) -> None:
    before = api.add()
    bench.pass_time(150_000)
    edit = body(api("PATCH", "periodic/docs", json={"spec": "@every:90000"}), 200)["edit"]
    assert edit["next_run_before_ms"] == before["next_run_ms"]
    assert edit["carried"]["count"] == 2


@pytest.mark.parametrize(
    ("method", "payload"), [("PUT", DOCS), ("PATCH", {"retry_budget": 9}), ("DELETE", None)], ids=str
)
@pytest.mark.parametrize(
    ("if_match", "meets"), [('"1"', True), ("*", True), ('"9", "1"', True), ('"2"', False), ('W/"1"', False)]
)
def test_a_change_is_made_to_the_revision_it_names_or_not_at_all(
    api: Api, method: str, payload: Any, if_match: str, meets: bool
) -> None:
    before = api.add()
    request = {} if payload is None else {"json": payload}
    response = api(method, "periodic/docs", headers={"If-Match": if_match}, **request)
    if meets:
        assert response.status_code in {200, 204}
    else:
        problem(response, 412, "precondition_failed")
        assert api.get("periodic/docs") == before


@pytest.mark.parametrize("if_match", ["1", '"1', "", '"a" "b"', "\xe9"])
def test_an_if_match_that_is_no_entity_tag_is_a_bad_request(api: Api, if_match: str) -> None:
    api.add()
    problem(api("DELETE", "periodic/docs", headers={"If-Match": if_match.encode("latin-1")}), 400, "bad_condition")


def test_a_put_that_expects_a_schedule_does_not_write_a_new_one(api: Api) -> None:
    problem(api("PUT", "periodic/docs", json=DOCS, headers={"If-Match": "*"}), 412, "precondition_failed")
    problem(api("GET", "periodic/docs"), 404, "schedule_not_found")


def test_a_put_that_expects_no_schedule_replaces_none(api: Api) -> None:
    unless = {"If-None-Match": "*"}
    assert api("PUT", "periodic/docs", json=DOCS, headers=unless).status_code == 201
    problem(api("PUT", "periodic/docs", json={**DOCS, "retry_budget": 9}, headers=unless), 412, "precondition_failed")
    assert api.get("periodic/docs")["revision"] == 1


def test_a_change_that_another_one_overtook_is_refused(api: Api, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at the revision and the write somebody else writes: the store's own comparison decides."""
    api.add()
    store = api.app.state.control.changing
    update = store.schedules.update

    def overtaken(schedule_id: str, changes: Any, **options: Any) -> Any:
        bench.store.schedules.update("docs", {"retry_budget": 9})
        return update(schedule_id, changes, **options)

    monkeypatch.setattr(store.schedules, "update", overtaken)
    overlap = {"overlap": "allow"}
    problem(api("PATCH", "periodic/docs", json=overlap, headers={"If-Match": '"1"'}), 412, "precondition_failed")
    problem(api("PATCH", "periodic/docs", json={"kwargs": {"a": 1}}), 409, "revision_conflict")
    assert api.get("periodic/docs")["overlap"] == "skip"


def test_a_deleted_schedule_keeps_its_past_readable(api: Api, bench: Bench) -> None:
    api.add()
    occurrence = bench.due()
    bench.running(occurrence)
    assert api("DELETE", "periodic/docs").status_code == 204
    problem(api("GET", "periodic/docs"), 404, "schedule_not_found")
    problem(api("DELETE", "periodic/docs"), 404, "schedule_not_found")
    assert [e["outcome"] for e in api.get("periodic/docs/enqueue-events")["events"]] == ["enqueued"]
    assert [e["event"] for e in api.get("periodic/docs/runs")["runs"]] == ["began", "acquired", "enqueued"]
    assert [e["what"] for e in api.get("periodic/docs/changes")["changes"]] == ["deleted", "created"]
    assert api.get(f"periodic/docs/occurrences/{occurrence.tick_ms}")["state"] == "RUNNING"


@pytest.mark.parametrize(
    ("if_match", "deleted"), [(None, True), ("*", True), ('"1"', True), ('"2"', False), ('W/"1"', False)]
)
def test_an_unusable_schedule_is_deleted_at_the_revision_it_is_named_by_or_not_at_all(
    api: Api, bench: Bench, if_match: str | None, deleted: bool
) -> None:
    api.add()
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "definition", "{}")
    problem(api("GET", "periodic/docs"), 409, "unusable_schedule")
    response = api("DELETE", "periodic/docs", headers={} if if_match is None else {"If-Match": if_match})
    if deleted:
        assert response.status_code == 204
    else:
        problem(response, 412, "precondition_failed")
    assert bench.store.schedules.exists("docs") is not deleted


def test_schedules_come_in_pages_that_stay_right_while_schedules_come_and_go(api: Api, bench: Bench) -> None:
    for number in range(0, 10, 2):
        api.add(schedule_id=f"s{number}")
    pages = api.pages("periodic", "schedules", limit=2)
    assert [each["schedule_id"] for each in next(pages)] == ["s0", "s2"]
    api.add(schedule_id="s1")
    api.add(schedule_id="s3")
    api("DELETE", "periodic/s4")
    assert [[each["schedule_id"] for each in page] for page in pages] == [["s3", "s6"], ["s8"]]


@pytest.mark.parametrize("limit", ["0", "101", "-1", "many", "1.5", ""])
def test_a_limit_out_of_range_is_named(api: Api, limit: str) -> None:
    assert faults(problem(api("GET", f"periodic?limit={limit}"), 422, "invalid_field")) == ["limit"]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "../..", "ZG9jcw==", "Li4", "%00", "é"])
@pytest.mark.parametrize("path", ["periodic", "holds", "periodic/docs/runs", "periodic/docs/enqueue-events"])
def test_a_cursor_that_no_page_gave_is_a_bad_request(api: Api, path: str, cursor: str) -> None:
    api.add()
    assert faults(problem(api("GET", path, params={"cursor": cursor}), 400, "invalid_field")) == ["cursor"]


def test_the_document_describes_every_field_of_a_definition(api: Api) -> None:
    schemas = api.document["components"]["schemas"]
    fields = set(ScheduleDefinition.model_fields)
    assert set(schemas["ScheduleDefinition"]["properties"]) == fields
    assert set(schemas["ScheduleChanges"]["properties"]) == fields
    assert fields <= set(schemas["Schedule"]["properties"])
