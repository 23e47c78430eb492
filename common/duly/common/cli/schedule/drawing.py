"""Schedules and edits, drawn for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.schedule.entry_lines import Entry, entry_lines
from duly.common.explain.text import count, relative
from duly.common.identity import canonical_json
from duly.common.instant import to_rfc3339
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.edit import changed_fields
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store.schedules import Edit
from duly.common.timetable import TickRange

_POLICIES = {"skip": "skip the backlog", "run_once": "run once", "backfill": "backfill up to {}"}
_DEFAULTS = {name: field for name, field in ScheduleDefinition.model_fields.items() if not field.is_required()}


def draw_list(records: Sequence[ScheduleRecord], next_cursor: str | None, now_ms: int) -> RenderableType:
    """A page of schedules."""
    if not records:
        return output.stack(output.cell("no schedules yet; add one with"), output.command("duly schedule add --help"))
    entries = [
        Entry(
            [each.schedule_id, each.definition.spec, each.definition.task],
            [[each.state.value, next_run, each.last_outcome or "-"], ["", note, ""]],
            output.STYLES.get(each.state.value, ""),
        )
        for each in records
        for next_run, note in [_next_run_lines(each, now_ms)]
    ]
    listed = entry_lines("SCHEDULE, SPEC, TASK", ["STATE", "NEXT RUN", "LAST"], entries, output.console().width)
    return output.stack(*listed, output.more(next_cursor, "duly", "schedule", "list"))


def draw_schedule(record: ScheduleRecord, now_ms: int, warning: str | None = None) -> RenderableType:
    """One schedule: where it stands, then its definition as far as it is not the default."""
    definition = record.definition
    stands = [
        ("schedule", record.schedule_id),
        ("state", output.cell(record.state.value)),
        ("note", record.note),
        ("warning", output.cell(warning, "yellow") if warning else None),
        ("paused until", output.instant(record.paused_until_ms, now_ms)),
        ("held", count(record.held, "occurrence") + ": duly holds" if record.held else None),
        ("next run", _next_run(record, now_ms)),
        ("last run", output.instant(record.last_run_ms, now_ms)),
        ("last outcome", record.last_outcome),
        ("spec", definition.spec),
        ("zone", f"{definition.expression.timezone} ({definition.expression.schedule_type})"),
        ("task", definition.task),
        ("missed runs", _POLICIES[definition.missed_run_policy].format(definition.backfill_limit)),
        ("review owner", definition.review_owner),
    ]
    shown = {"spec", "task", "missed_run_policy", "backfill_limit", "review_owner", "schedule_id"}
    changed = [(name, _written(definition, name)) for name in _DEFAULTS if name not in shown]
    kept = [
        ("revision", record.revision),
        ("written", output.instant(record.created_ms, now_ms)),
        ("changed", output.instant(record.updated_ms, now_ms)),
    ]
    return output.facts([*stands, *changed, *kept])


def _next_run_lines(record: ScheduleRecord, now_ms: int) -> tuple[str, str]:
    """When it runs next, and what is said of that on a line below."""
    if record.state is ScheduleState.PAUSED:
        until_ms = record.paused_until_ms
        return ("when resumed", "") if until_ms is None else (to_rfc3339(until_ms), "at the earliest")
    if record.next_run_ms is None:
        return "-", ""
    return to_rfc3339(record.next_run_ms), relative(record.next_run_ms, now_ms)


def _next_run(record: ScheduleRecord, now_ms: int) -> str:
    if record.state is not ScheduleState.PAUSED:
        return output.instant(record.next_run_ms, now_ms) or "none: it has no more ticks"
    until = output.instant(record.paused_until_ms, now_ms)
    return f"when its pause ends, {until}" if until else "when resumed"


def _written(definition: ScheduleDefinition, name: str) -> str | None:
    value = getattr(definition, name)
    if value in (None, [], {}):
        return None
    dumped = definition.model_dump(mode="json")[name]
    return str(dumped) if isinstance(dumped, str | int) else canonical_json(dumped)


def draw_added(record: ScheduleRecord, now_ms: int) -> RenderableType:
    following = output.instant(record.next_run_ms, now_ms) or "none: the spec has no tick inside its bounds"
    return output.facts([("added", record.schedule_id), ("first run", following)])


def draw_paused(record: ScheduleRecord, now_ms: int) -> RenderableType:
    until = output.instant(record.paused_until_ms, now_ms)
    return output.stack(
        output.facts([("paused", record.schedule_id), ("note", record.note), ("until", until)]),
        None if until else output.cell(f"resume it with: duly schedule resume {record.schedule_id}"),
    )


def draw_resumed(edit: Edit, now_ms: int) -> RenderableType:
    return output.facts(
        [
            ("resumed", edit.record.schedule_id),
            ("next run", output.instant(edit.record.next_run_ms, now_ms) or "none"),
            ("passed over", _ticks(edit.dropped, "on record as skipped")),
        ]
    )


def draw_edit(before: ScheduleRecord, edit: Edit, now_ms: int, *, dry_run: bool) -> RenderableType:
    """What an edit did, or would do, to the fields, the next run and the ticks already due."""
    after, changed = edit.record, changed_fields(before.definition, edit.record.definition)
    moved = edit.next_run_before_ms != after.next_run_ms
    return output.facts(
        [
            ("would update" if dry_run else "updated", after.schedule_id),
            ("revision", None if dry_run else f"{before.revision} -> {after.revision}"),
            ("fields", ", ".join(changed) or "none: they held these values already"),
            ("next run was", output.instant(edit.next_run_before_ms, now_ms) if moved else None),
            ("next run", output.instant(after.next_run_ms, now_ms) or "none: no tick inside the bounds"),
            ("still due", _ticks(edit.carried, "due before the edit; they run as they were defined then")),
            ("passed over", _ticks(edit.dropped, "paused; on record as skipped")),
        ]
    )


def _ticks(ticks: TickRange | None, meaning: str) -> str | None:
    if ticks is None:
        return None
    span = to_rfc3339(ticks.first_ms)
    if ticks.count > 1:
        span += f" to {to_rfc3339(ticks.last_ms)}"
    return f"{count(ticks.count, 'tick')}, {span} ({meaning})"
