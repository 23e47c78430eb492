"""What an edit makes of a definition, and which edits are allowed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duly.common.errors import InvalidField
from duly.common.expression import ExpressionError, parse
from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition, define

MODEL_FIELDS = ("missed_run_policy", "jitter_window_ms", "lease_ttl_ms", "retry_budget", "backoff")
"""What must be stated again when a calendar schedule becomes an interval one, or the other way round."""
PAYLOAD_FIELDS = ("args", "kwargs")
TIMING_FIELDS = ("spec", "start_at", "end_at")
"""An edit of one of these restarts the schedule from the first tick after it."""


class NotRestated(InvalidField):
    """The model changes, and fields that mean something else in the new one are not stated again: all of ``fields``.

    ``rule`` says what holds for each of them.
    """

    def __init__(self, fields: Sequence[str], rule: str) -> None:
        others = f" (so must {', '.join(fields[1:])})" if fields[1:] else ""
        super().__init__(fields[0], f"{rule}{others}")
        self.fields = tuple(fields)
        self.rule = rule


def timing_changed(old: ScheduleDefinition, new: ScheduleDefinition) -> bool:
    """Whether an edit restarts the schedule from the first tick after it."""
    return any(getattr(old, name) != getattr(new, name) for name in TIMING_FIELDS)


def changed_fields(old: ScheduleDefinition, new: ScheduleDefinition) -> dict[str, list[Any] | None]:
    """The fields that differ, each with its values before and after; what the task is called with only by name.

    They differ to the letter of their JSON: a task called with ``1`` is not called with ``true``, nor with ``1.0``.
    """
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    return {
        name: None if name in PAYLOAD_FIELDS else [before[name], after[name]]
        for name in before
        if canonical_json(before[name]) != canonical_json(after[name])
    }


def changed_definition(old: ScheduleDefinition, changes: Mapping[str, Any]) -> ScheduleDefinition:
    """The definition after ``changes``; raises InvalidField, also when the model changes and is not restated."""
    if "schedule_id" in changes and changes["schedule_id"] != old.schedule_id:
        raise InvalidField("schedule_id", "cannot be changed; delete the schedule and add it anew")
    fields = {**old.model_dump(mode="json"), **changes}
    if changes.get("missed_run_policy", "backfill") != "backfill" and "backfill_limit" not in changes:
        fields["backfill_limit"] = None
    definition = define(fields)
    check_restated(old, changes)
    return definition


def check_restated(old: ScheduleDefinition, changes: Mapping[str, Any]) -> None:
    """Raises NotRestated where ``changes`` turn the schedule into one of the other model, and are silent on its fields.

    A ``spec`` that is not there or cannot be read turns it into nothing else.
    """
    try:
        new_type = parse(changes["spec"]).schedule_type
    except (KeyError, TypeError, AttributeError, ExpressionError):
        return
    old_type = old.expression.schedule_type
    silent = [name for name in MODEL_FIELDS if name not in changes]
    if old_type != new_type and silent:
        raise NotRestated(silent, f"must be stated again when a schedule turns from {old_type} to {new_type}")
