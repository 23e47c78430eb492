"""Edits of a definition: which fields they change, and what must be stated again when the model changes."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.errors import InvalidField
from duly.common.records.definition import ScheduleDefinition, define
from duly.common.records.edit import NotRestated, changed_definition, changed_fields, check_restated

RESTATED: dict[str, Any] = {
    "missed_run_policy": "skip",
    "jitter_window_ms": 0,
    "lease_ttl_ms": 5_000,
    "retry_budget": 2,
    "backoff": {},
}


def docs(**fields: Any) -> ScheduleDefinition:
    given = {"schedule_id": "docs", "spec": "@every:60000", "task": "docs.refresh", "review_owner": "ann"}
    return define({**given, "missed_run_policy": "run_once", **fields})


@pytest.mark.parametrize("stated", [[], ["retry_budget"], ["missed_run_policy", "backoff"]], ids=str)
def test_a_refusal_names_every_field_that_must_be_stated_again_and_none_that_was(stated: list[str]) -> None:
    silent = [name for name in RESTATED if name not in stated]
    changes = {"spec": "0 9 * * *", **{name: RESTATED[name] for name in stated}}
    with pytest.raises(NotRestated) as refusal:
        changed_definition(docs(), changes)
    assert (refusal.value.field, refusal.value.fields) == (silent[0], tuple(silent))
    assert str(refusal.value) == (
        f"{silent[0]}: must be stated again when a schedule turns from interval to calendar"
        f" (so must {', '.join(silent[1:])})"
    )


def test_a_single_silent_field_is_named_alone() -> None:
    changes = {"spec": "0 9 * * *", **RESTATED}
    del changes["backoff"]
    with pytest.raises(NotRestated) as refusal:
        check_restated(docs(), changes)
    assert str(refusal.value) == f"backoff: {refusal.value.rule}"


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": "0 9 * * *", **RESTATED},
        {"spec": "@every:90000"},
        {"retry_budget": 5},
        {"spec": "nonsense"},
        {"spec": 1},
    ],
    ids=str,
)
def test_nothing_must_be_stated_again_while_the_model_is_the_same_or_not_told(changes: dict[str, Any]) -> None:
    check_restated(docs(), changes)


def test_what_is_wrong_by_itself_is_refused_before_what_must_be_stated_again() -> None:
    with pytest.raises(InvalidField) as refusal:
        changed_definition(docs(), {"spec": "0 9 * * *", "lease_ttl_ms": 0})
    assert refusal.value.field == "lease_ttl_ms"


@pytest.mark.parametrize(("before", "after"), [([1], [True]), ([1], [1.0]), ([{"n": 0}], [{"n": False}])], ids=str)
def test_arguments_that_are_equal_only_in_python_have_changed(before: list[Any], after: list[Any]) -> None:
    assert changed_fields(docs(args=before), docs(args=after)) == {"args": None}


def test_arguments_in_another_order_of_keys_have_not_changed() -> None:
    assert changed_fields(docs(kwargs={"a": 1, "b": 2}), docs(kwargs={"b": 2, "a": 1})) == {}
