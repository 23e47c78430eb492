"""What waits for a reviewer over HTTP, and what the reviewer says."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.identity import Occurrence
from tests.acceptance.conftest import Cli
from tests.control.conftest import Api, body, faults, problem
from tests.store.conftest import Bench
from tests.store.obstacles import OBSTACLES, put_in_the_way

FOUND = {"outcome": "abandoned", "by": "ann", "evidence": "https://tickets.example/1"}


def resolve(api: Api, held: Occurrence, **said: Any) -> Any:
    return api("POST", f"holds/{held.schedule_id}/{held.tick_ms}/resolve", json={**FOUND, **said})


def test_holds_are_listed_as_by_the_command_line_with_the_version_to_resolve(
    api: Api, bench: Bench, lived_in: Occurrence
) -> None:
    listed = api.get("holds")
    assert listed == Cli(bench.store).json("holds")
    assert listed["holds"][0]["version"] == bench.record(lived_in).version


def test_the_same_resolution_twice_is_one_and_another_is_refused(api: Api, lived_in: Occurrence) -> None:
    first = body(resolve(api, lived_in), 200)
    assert (first["state"], first["replayed"]) == ("ABANDONED", False)
    assert body(resolve(api, lived_in), 200)["replayed"] is True
    problem(resolve(api, lived_in, outcome="committed"), 409, "resolution_conflict")
    assert api.get("holds")["holds"] == []


def test_a_resolution_of_what_was_not_seen_is_refused(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    seen = bench.record(lived_in).version
    problem(resolve(api, lived_in, seen=seen + 1), 409, "hold_changed")
    assert body(resolve(api, lived_in, seen=seen), 200)["state"] == "ABANDONED"


def test_a_resolution_may_also_run_the_latest_missed_tick(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    told = body(resolve(api, lived_in, catch_up="latest"), 200)
    assert told["catch_up_tick_ms"] == bench.store.schedules.now_ms() // 60_000 * 60_000


@pytest.mark.parametrize(("obstacle", "said"), OBSTACLES.items())
def test_whatever_keeps_a_catch_up_from_being_made_is_told_and_the_hold_is_resolved(
    api: Api, bench: Bench, lived_in: Occurrence, monkeypatch: pytest.MonkeyPatch, obstacle: str, said: str
) -> None:
    put_in_the_way(obstacle, bench, monkeypatch)
    told = body(resolve(api, lived_in, catch_up="latest"), 200)
    assert (told["catch_up_tick_ms"], told["state"]) == (None, "ABANDONED")
    assert said in told["catch_up"]


def test_holds_and_runs_to_approve_can_be_listed_apart(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    api.add(schedule_id="careful", approval="required")
    bench.due("careful")
    assert [each["schedule_id"] for each in api.get("holds")["holds"]] == ["docs", "careful"]
    assert [each["schedule_id"] for each in api.get("holds", kind="approval")["holds"]] == ["careful"]
    assert [each["schedule_id"] for each in api.get("holds", kind="hold")["holds"]] == ["docs"]
    assert faults(problem(api("GET", "holds?kind=other"), 422, "invalid_field")) == ["kind"]


@pytest.mark.parametrize(
    ("said", "field"),
    [({"outcome": "maybe"}, "outcome"), ({"by": ""}, "by"), ({"evidence": "a\r\nb"}, "evidence"),
     ({"extra_attempts": 101}, "extra_attempts"), ({"extra_attempts": 1}, "extra_attempts"), ({"seen": -1}, "seen"),
     ({"catch_up": "all"}, "catch_up"), ({"by": "x\u202ey"}, "by"), ({"note": "x"}, "note")],
    ids=str,
)  # fmt: skip
def test_a_resolution_that_says_nothing_usable_names_the_field(
    api: Api, lived_in: Occurrence, said: dict[str, Any], field: str
) -> None:
    assert faults(problem(resolve(api, lived_in, **said), 422, "invalid_field")) == [field]


def test_what_is_not_held_is_not_resolved(api: Api, lived_in: Occurrence) -> None:
    problem(resolve(api, Occurrence("docs", 5)), 404, "occurrence_not_found")
    problem(resolve(api, Occurrence("feed", lived_in.tick_ms)), 409, "not_held")


def test_a_run_is_approved_by_its_reviewer_once_and_by_nobody_else(api: Api, bench: Bench) -> None:
    api.add(approval="required")
    waiting = bench.due()
    approve = f"holds/docs/{waiting.tick_ms}/approve"
    assert api.get("holds")["holds"][0]["reason"] == "approval_required"
    problem(api("POST", approve, json={"by": "bob"}), 403, "not_reviewer")
    assert api.post(approve, {"by": "ann"})["replayed"] is False
    assert api.post(approve, {"by": "ann"})["replayed"] is True
    bench.sweep()
    assert bench.queue() == [f"duly-docs-{waiting.tick_ms}-1"]
    problem(api("POST", "holds/docs/5/approve", json={"by": "ann"}), 404, "occurrence_not_found")
    assert api.get("periodic/docs/changes")["changes"][0]["what"] == "approved"


def test_a_cursor_of_another_list_or_of_another_kind_is_one_clear_error(api: Api, bench: Bench) -> None:
    for number in range(3):
        api.add(schedule_id=f"s{number}", approval="required", spec="@every:1000")
    bench.due("s0")
    approvals = api.get("holds", limit=1)["next_cursor"]
    schedules = api.get("periodic", limit=1)["next_cursor"]
    runs = api.get("periodic/s0/runs", limit=1)["next_cursor"] or ""
    assert len(api.get("holds", kind="approval", cursor=approvals)["holds"]) == 2
    for path, cursor in (
        ("holds?kind=hold", approvals),
        ("holds", schedules),
        ("periodic", approvals),
        ("periodic", runs),
        ("periodic/s0/enqueue-events", runs),
        ("periodic/s0/runs", schedules),
    ):
        found = api("GET", path, params={"cursor": cursor} | ({"kind": "hold"} if "kind" in path else {}))
        assert faults(problem(found, 400, "invalid_field")) == ["cursor"], path


@pytest.mark.parametrize("path", ["periodic", "holds", "periodic/docs/runs"])
def test_a_cursor_longer_than_any_is_a_bad_cursor(api: Api, path: str) -> None:
    api.add()
    assert faults(problem(api("GET", path, params={"cursor": "A" * 2_000}), 400, "invalid_field")) == ["cursor"]
