"""Schedules as TOML text that `schedule_file` reads back as the same definitions. Pure.

The shape is flat, so an emitter of a screenful is enough. What TOML cannot say (null, integers beyond 64 bits,
lone surrogates) goes into ``args_json`` and ``kwargs_json`` as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from duly.common.identity import canonical_json
from duly.common.instant import to_rfc3339
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.schedule import ScheduleRecord, ScheduleState

HEADER = "# Schedules as 'duly schedule sync' reads them. What is not named here has its default.\n"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_INT64 = range(-(2**63), 2**63)


class _Unwritable(ValueError):
    """TOML has no way to say this."""


def write_schedules(records: Iterable[ScheduleRecord]) -> Iterator[str]:
    """The text, one schedule at a time."""
    yield HEADER
    for record in records:
        yield "\n[[schedule]]\n" + "".join(_lines(record))


def _lines(record: ScheduleRecord) -> Iterator[str]:
    for name, value in written_fields(record.definition).items():
        try:
            yield f"{name} = {_value(value)}\n"
        except _Unwritable:
            yield f"{name}_json = {_literal(canonical_json(value))}\n"
    if record.state is ScheduleState.PAUSED:
        yield f'state = "paused"\nnote = {_string(record.note)}\n'
        if record.paused_until_ms is not None:
            yield f'paused_until = "{to_rfc3339(record.paused_until_ms)}"\n'


def written_fields(definition: ScheduleDefinition) -> dict[str, Any]:
    """The fields that a file must name: the required ones, and those that differ from their default."""
    values = definition.model_dump(mode="json")
    for name, field in ScheduleDefinition.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
        if not field.is_required() and getattr(definition, name) == default:
            del values[name]
    return values


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value not in _INT64:
            raise _Unwritable
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        pairs = [f"{_key(name)} = {_value(each)}" for name, each in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    raise _Unwritable


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unwritable from None
    # A JSON string is a TOML basic string but for DEL, which only TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _literal(text: str) -> str:
    return _string(text) if "'" in text else f"'{text}'"
