"""A schedule's fields as a form shows them, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from duly.common.errors import InvalidField
from duly.common.expression import ExpressionError, parse
from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.edit import MODEL_FIELDS
from duly.common.strict_json import read_array, read_object
from duly.scheduler.control.editing import read_definition
from duly.scheduler.control.problems import Fault, InvalidFields

NUMBERS = ("backfill_limit", "max_lateness_ms", "jitter_window_ms", "lease_ttl_ms", "timeout_ms", "retry_budget")
OPTIONAL = ("backfill_limit", "max_lateness_ms", "start_at", "end_at")
BACKOFF = ("backoff_base_ms", "backoff_factor", "backoff_max_ms")
TEXTS = ("spec", "task", "queue", "missed_run_policy", "overlap", "review_owner", "approval", "start_at", "end_at")
DEFAULTS = {
    "queue": "default",
    "overlap": "skip",
    "approval": "automatic",
    "jitter_window_ms": "0",
    "lease_ttl_ms": "30000",
    "timeout_ms": "300000",
    "retry_budget": "3",
    "backoff_base_ms": "1000",
    "backoff_factor": "2",
    "backoff_max_ms": "300000",
    "args": "[]",
    "kwargs": "{}",
}


def blank() -> dict[str, str]:
    """The form of a new schedule."""
    names = ("schedule_id", *TEXTS, *NUMBERS, *BACKOFF, "args", "kwargs")
    return {**dict.fromkeys(names, ""), **DEFAULTS}


def shown(definition: ScheduleDefinition) -> dict[str, str]:
    """The form of a schedule that is there."""
    values = definition.model_dump(mode="json")
    backoff = values.pop("backoff")
    flat = {**values, **{f"backoff_{name}": value for name, value in backoff.items()}}
    return {name: _text(value) for name, value in flat.items()}


def filled(given: Mapping[str, str], base: Mapping[str, str]) -> dict[str, str]:
    """The form as it was sent, over what it started from."""
    return {name: given.get(name, value) for name, value in base.items()}


def read(form: Mapping[str, str]) -> dict[str, Any]:
    """The fields that a form says, as `define` takes them; raises InvalidFields for every text that is no value."""
    fields, faults = _understood(form)
    if faults:
        raise InvalidFields(faults)
    return fields


def defined(form: Mapping[str, str]) -> ScheduleDefinition:
    """The definition that a new schedule's form says; raises InvalidFields for all that is wrong with single fields."""
    fields, faults = _understood(form)
    try:
        made = read_definition({"schedule_id": form["schedule_id"].strip(), **fields})
    except InvalidFields as error:
        faults += _others(error.faults, faults)
        faults += _others(_of_expression(fields["spec"]), faults)
        raise InvalidFields(faults) from error
    if faults:
        raise InvalidFields(faults)
    return made


def _others(found: Sequence[Fault], known: Sequence[Fault]) -> list[Fault]:
    # A text that is no value leaves its field empty, which is then no second fault.
    names = {each.field.replace(".", "_") for each in known}
    return [each for each in found if each.field.replace(".", "_") not in names]


def _of_expression(spec: str) -> list[Fault]:
    # A definition is parsed only when every field is well-formed by itself.
    try:
        parse(spec)
    except ExpressionError as error:
        return [Fault(error.field, error.problem)]
    return []


def _understood(form: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """The fields, None for text that is no value, and what is wrong with each such text."""
    faults = list[Fault]()

    def value(read_one: Callable[..., Any], name: str, *given: Any, **options: Any) -> Any:
        try:
            return read_one(name, *given, **options)
        except InvalidField as error:
            faults.append(Fault(error.field, str(error).removeprefix(f"{error.field}: ")))
            return None

    fields: dict[str, Any] = {}
    for name in TEXTS:
        text = form[name].strip()
        if text or name not in OPTIONAL:
            fields[name] = text
        else:
            fields[name] = None
    for name in NUMBERS:
        fields[name] = value(_number, name, form[name], optional=name in OPTIONAL)
    fields["backoff"] = {
        "base_ms": value(_number, "backoff_base_ms", form["backoff_base_ms"]),
        "factor": value(_decimal, "backoff_factor", form["backoff_factor"]),
        "max_ms": value(_number, "backoff_max_ms", form["backoff_max_ms"]),
    }
    fields["args"] = value(read_array, "args", form["args"].strip() or "[]")
    fields["kwargs"] = value(read_object, "kwargs", form["kwargs"].strip() or "{}")
    if fields["missed_run_policy"] != "backfill":
        fields["backfill_limit"] = None  # the field is there for whoever chooses to backfill
    return fields, faults


def changes(form: Mapping[str, str], definition: ScheduleDefinition, *, restated: bool = False) -> dict[str, Any]:
    """The fields that a form changes; ``restated``: with those that a change of the model asks to be given anew."""
    fields, before = read(form), definition.model_dump(mode="json")
    anew = MODEL_FIELDS if restated else ()
    return {name: value for name, value in fields.items() if _differ(before[name], value) or name in anew}


def _differ(before: Any, after: Any) -> bool:
    # 1 and true are equal in Python, and two values in JSON. What is no JSON value at all differs from any that is.
    return before != after or canonical_json(before) != canonical_json(after)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, ensure_ascii=True) if isinstance(value, list | dict) else str(value)


def _number(name: str, text: str, *, optional: bool = False) -> int | None:
    text = text.strip()
    if optional and not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 15:
        return int(text)
    raise InvalidField(name, "must be a whole number")


def _decimal(name: str, text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        raise InvalidField(name, "must be a number") from None
