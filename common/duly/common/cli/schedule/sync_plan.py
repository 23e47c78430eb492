"""What a schedules file changes: the plan, and carrying it out step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.cli.schedule.schedule_file import Entry, InvalidFile
from duly.common.errors import InvalidField
from duly.common.records.edit import MODEL_FIELDS, changed_definition, changed_fields
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store import Store

PAGE = 200


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Step:
    """One schedule: what is to be done, the fields that change (``state`` among them), and what was seen."""

    schedule_id: str
    action: Action
    changed: tuple[str, ...] = ()
    entry: Entry | None = None
    record: ScheduleRecord | None = None


def all_records(store: Store) -> Iterator[ScheduleRecord]:
    """Every schedule, in order of the ids, read in pages."""
    after: str | None = ""
    while after is not None:
        page, after = store.schedules.page(PAGE, after)
        yield from page


def plan(entries: Sequence[Entry], records: Mapping[str, ScheduleRecord], now_ms: int, *, prune: bool) -> list[Step]:
    """The steps that make the schedules what the file says, in the file's order; deletions come last."""
    steps = [_step(_at(entry, now_ms), records.get(entry.definition.schedule_id)) for entry in entries]
    named = {step.schedule_id for step in steps}
    if prune:
        steps += [
            Step(each.schedule_id, Action.DELETE, record=each)
            for each in records.values()
            if each.schedule_id not in named
        ]
    return steps


def _at(entry: Entry, now_ms: int) -> Entry:
    """The entry at this instant: a pause that has ended is none."""
    if entry.until_ms is None or entry.until_ms > now_ms:
        return entry
    return Entry(entry.definition, stated=entry.stated)


def _step(entry: Entry, record: ScheduleRecord | None) -> Step:
    schedule_id = entry.definition.schedule_id
    if record is None:
        return Step(schedule_id, Action.CREATE, entry=entry)
    changed = tuple(changed_fields(record.definition, entry.definition))
    try:
        changed_definition(record.definition, _changes(entry, record))
    except InvalidField as error:  # before any step is taken
        raise InvalidFile(f"schedule '{schedule_id}': {error}", error.field) from error
    if _must_pause(entry, record) or _must_resume(entry, record):
        changed += ("state",)
    return Step(schedule_id, Action.UPDATE if changed else Action.UNCHANGED, changed, entry, record)


def _must_pause(entry: Entry, record: ScheduleRecord) -> bool:
    wanted = (ScheduleState.PAUSED, entry.note, entry.until_ms)
    return entry.state == "paused" and wanted != (record.state, record.note, record.paused_until_ms)


def _must_resume(entry: Entry, record: ScheduleRecord) -> bool:
    return entry.state == "active" and record.state is ScheduleState.PAUSED


def carry_out(store: Store, step: Step) -> None:
    """Apply one step, to the revision that was seen; raises what the store raises, RevisionConflict among them."""
    if step.action is Action.DELETE and step.record is not None:
        store.schedules.delete(step.schedule_id, revision=step.record.revision)
    elif step.action is Action.CREATE and step.entry is not None:
        _create(store, step.entry)
    elif step.action is Action.UPDATE and step.entry is not None and step.record is not None:
        _update(store, step.entry, step.record)


def _create(store: Store, entry: Entry) -> None:
    store.schedules.add(
        entry.definition, paused=entry.note if entry.state == "paused" else None, until_ms=entry.until_ms
    )


def _update(store: Store, entry: Entry, record: ScheduleRecord) -> None:
    """A pause comes before the other changes and a resume after them, so that no tick sees half of them."""
    schedule_id, revision = record.schedule_id, record.revision
    if _must_pause(entry, record):
        revision = store.schedules.pause(schedule_id, entry.note, entry.until_ms, revision=revision).revision
    changes = _changes(entry, record)
    if changes:
        revision = store.schedules.update(schedule_id, changes, revision=revision).record.revision
    if _must_resume(entry, record):
        store.schedules.resume(schedule_id, revision=revision)


def _changes(entry: Entry, record: ScheduleRecord) -> dict[str, Any]:
    old, new = record.definition, entry.definition
    named = list(changed_fields(old, new))
    if named and old.expression.schedule_type != new.expression.schedule_type:
        # What a change of the model asks for again must stand in the file; a default is no answer.
        named = [*(name for name in named if name not in MODEL_FIELDS), *(entry.stated & set(MODEL_FIELDS))]
    values = new.model_dump(mode="json")
    return {name: values[name] for name in named}
