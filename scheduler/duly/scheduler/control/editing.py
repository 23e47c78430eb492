"""What a PUT or a PATCH changes of a definition, and every field that is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from duly.common.errors import InvalidField
from duly.common.records.definition import ScheduleDefinition, define, faults_of
from duly.common.records.edit import NotRestated, changed_definition, check_restated
from duly.scheduler.control.problems import Fault, InvalidFields

_FIELDS = ScheduleDefinition.model_fields


def read_definition(fields: Mapping[str, Any]) -> ScheduleDefinition:
    """A definition from the fields of a body; raises InvalidFields naming every field that is wrong by itself."""
    try:
        return define(fields)
    except InvalidField as first:
        raise InvalidFields([_fault(first), *_more(fields, first.field)]) from first


def replacement(old: ScheduleDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The changes that make a schedule what ``given`` says and nothing else; raises InvalidFields.

    Left out, a field has its default; but what another model of schedule must state again has none.
    """
    _check_restated(old, given)
    definition = read_definition({**given, "schedule_id": given.get("schedule_id", old.schedule_id)})
    return definition.model_dump(mode="json")


def patch(old: ScheduleDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of a merge patch (RFC 7396): null gives a field its default, objects are merged.

    What objects are merged into is ``old``, so the changes belong to its revision. Raises InvalidFields.
    """
    _check_restated(old, given)
    before = old.model_dump(mode="json")
    changes = {name: _patched(name, before.get(name), value) for name, value in given.items()}
    try:
        changed_definition(old, changes)
    except InvalidField as first:
        raise InvalidFields([_fault(first), *_more({**before, **changes}, first.field)]) from first
    return changes


def merges(given: Mapping[str, Any]) -> bool:
    """Whether what the patch makes of a schedule depends on more of it than the fields that it names."""
    return any(isinstance(value, dict) for value in given.values())


def _patched(name: str, before: Any, value: Any) -> Any:
    if value is None and name in _FIELDS and not _FIELDS[name].is_required():
        default = _FIELDS[name].get_default(call_default_factory=True, validated_data={})
        return default.model_dump(mode="json") if hasattr(default, "model_dump") else default
    return _merge(before, value) if isinstance(value, dict) else value


def _merge(before: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    merged = dict(before) if isinstance(before, dict) else {}
    for name, value in change.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged


def _check_restated(old: ScheduleDefinition, given: Mapping[str, Any]) -> None:
    """What must be stated again comes before all other faults, each field with one of its own."""
    try:
        check_restated(old, given)
    except NotRestated as error:
        raise InvalidFields([Fault(name, error.rule) for name in error.fields]) from error


def _fault(error: InvalidField) -> Fault:
    return Fault(error.field, str(error).removeprefix(f"{error.field}: "))


def _more(fields: Mapping[str, Any], known: str) -> list[Fault]:
    """What else is wrong with single fields, besides the one that is known."""
    try:
        ScheduleDefinition.model_validate(dict(fields))
    except ValidationError as error:
        return [_fault(each) for each in faults_of(error) if each.field != known]
    return []
