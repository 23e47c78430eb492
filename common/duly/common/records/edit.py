"""What an edit makes of a definition, and which edits are allowed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duly.common.errors import InvalidField
from duly.common.records.definition import ScheduleDefinition, define

MODEL_FIELDS = ("missed_run_policy", "jitter_window_ms", "lease_ttl_ms", "retry_budget", "backoff")
"""What must be stated again when a calendar schedule becomes an interval one, or the other way round."""
PAYLOAD_FIELDS = ("args", "kwargs")
TIMING_FIELDS = ("spec", "start_at", "end_at")
"""An edit of one of these restarts the schedule from the first tick after it."""


def timing_changed(old: ScheduleDefinition, new: ScheduleDefinition) -> bool:
    """Whether an edit restarts the schedule from the first tick after it."""
    return any(getattr(old, name) != getattr(new, name) for name in TIMING_FIELDS)


def changed_fields(old: ScheduleDefinition, new: ScheduleDefinition) -> dict[str, list[Any] | None]:
    """The fields that differ, each with its values before and after; what the task is called with only by name."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    return {
        name: None if name in PAYLOAD_FIELDS else [before[name], after[name]]
        for name in before
        if before[name] != after[name]
    }


def changed_definition(old: ScheduleDefinition, changes: Mapping[str, Any]) -> ScheduleDefinition:
    """The definition after ``changes``; raises InvalidField, also when the model changes and is not restated."""
    if "schedule_id" in changes and changes["schedule_id"] != old.schedule_id:
        raise InvalidField("schedule_id", "cannot be changed; delete the schedule and add it anew")
    fields = {**old.model_dump(mode="json"), **changes}
    if changes.get("missed_run_policy", "backfill") != "backfill" and "backfill_limit" not in changes:
        fields["backfill_limit"] = None
    definition = define(fields)
    old_type, new_type = old.expression.schedule_type, definition.expression.schedule_type
    if old_type != new_type:
        silent = [name for name in MODEL_FIELDS if name not in changes]
        if silent:
            raise InvalidField(
                silent[0],
                f"must be stated again when a schedule turns from {old_type} to {new_type}"
                + (f" (so must {', '.join(silent[1:])})" if silent[1:] else ""),
            )
    return definition
