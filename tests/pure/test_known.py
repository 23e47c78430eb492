"""What a duty holder remembers of definitions: little of each, and nothing of an earlier one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from duly.common.records.definition import ScheduleDefinition, define
from duly.common.store.survey import DueSchedule
from duly.scheduler.known import Definitions, Known


def definition(schedule_id: str, **fields: Any) -> ScheduleDefinition:
    usual = {"spec": "@every:60000", "task": "t", "missed_run_policy": "run_once", "review_owner": "ann"}
    return define({"schedule_id": schedule_id, **usual, **fields})


def due(schedule_id: str) -> DueSchedule:
    return DueSchedule(schedule_id, "1", "1", "born", "active", 60_000, None, "")


def learnt(definitions: Definitions, schedule_id: str, **fields: Any) -> Known:
    definitions.learn(due(schedule_id), definition(schedule_id, **fields))
    found = definitions.get(due(schedule_id))
    assert found is not None
    return found


def test_schedules_that_say_the_same_share_what_they_say_and_no_definition_is_kept() -> None:
    definitions = Definitions(whole=False)
    first, second = learnt(definitions, "a", args=[1]), learnt(definitions, "b", args=[2])
    assert first.rules is second.rules
    assert first.digest != second.digest
    assert first.definition is None


def test_each_schedule_keeps_its_own_jitter() -> None:
    definitions = Definitions(whole=False)
    for schedule_id in ("a", "b"):
        known = learnt(definitions, schedule_id, jitter_window_ms=30_000)
        plain = definition(schedule_id, jitter_window_ms=30_000).timetable
        assert known.timetable == plain
        assert known.timetable.release_ms(60_000) == plain.release_ms(60_000)


def test_what_differs_is_not_shared() -> None:
    definitions = Definitions(whole=False)
    usual = learnt(definitions, "a")
    for number, fields in enumerate(
        [
            {"spec": "@every:120000"},
            {"missed_run_policy": "skip"},
            {"missed_run_policy": "backfill", "backfill_limit": 2},
            {"max_lateness_ms": 5},
            {"jitter_window_ms": 5},
            {"queue": "other"},
            {"review_owner": "ben"},
            {"retry_budget": 9},
            {"start_at": "2026-01-01T00:00:00Z"},
            {"end_at": "2036-01-01T00:00:00Z"},
        ]
    ):
        assert learnt(definitions, f"b{number}", **fields).rules != usual.rules, fields


def test_an_edited_or_added_anew_schedule_is_not_known() -> None:
    definitions = Definitions(whole=False)
    learnt(definitions, "a")
    assert definitions.get(replace(due("a"), definition_revision="2")) is None
    assert definitions.get(replace(due("a"), incarnation="again")) is None


def test_where_hooks_ask_for_it_the_definition_itself_is_kept() -> None:
    assert learnt(Definitions(whole=True), "a", args=[1]).definition == definition("a", args=[1])
