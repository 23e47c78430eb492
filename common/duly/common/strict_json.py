"""JSON from people and from the store: what a lenient reader would guess at is refused. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from duly.common.errors import InvalidField
from duly.common.records.definition import MAX_ARGUMENT_BYTES, MAX_NESTING

# Spaces and line breaks do not count towards the size of the arguments, so the text may be longer than they are.
MAX_TEXT = 4 * MAX_ARGUMENT_BYTES
# A string that never ends takes the rest of the text: looking for its end again from each quote would be quadratic.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


class _Duplicate(ValueError):
    pass


def read_array(field: str, text: str) -> list[Any]:
    """The JSON array that ``text`` spells; raises InvalidField naming ``field``."""
    value = _read(field, text)
    if isinstance(value, list):
        return value
    raise InvalidField(field, "must be a JSON array, such as [1, 2]")


def read_object(field: str, text: str) -> dict[str, Any]:
    """The JSON object that ``text`` spells; raises InvalidField naming ``field``."""
    value = _read(field, text)
    if isinstance(value, dict):
        return value
    raise InvalidField(field, 'must be a JSON object, such as {"name": "value"}')


def read_value(field: str, text: str) -> Any:
    """The JSON value that ``text``, of whatever length, spells; raises InvalidField naming ``field``."""
    return _parse(field, text)


def read_kept(text: str) -> dict[str, Any]:
    """The JSON object that the store keeps as ``text``; raises ValueError for whatever could not be written again."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def _read(field: str, text: str) -> Any:
    if len(text) > MAX_TEXT:
        raise InvalidField(field, "args and kwargs may take 64 KiB as JSON")
    return _parse(field, text)


def _parse(field: str, text: str) -> Any:
    if _deeper(text, MAX_NESTING + 1):
        raise InvalidField(field, f"must not be nested deeper than {MAX_NESTING} levels")
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse)
    except _Duplicate as error:
        raise InvalidField(field, str(error)) from None
    except ValueError as error:
        raise InvalidField(field, f"is not JSON{_position(error)}") from None


def _deeper(text: str, levels: int) -> bool:
    """Whether brackets nest deeper than ``levels``, so that the parser's recursion stays bounded."""
    depth = 0
    for bracket in _BRACKETS.finditer(_STRING.sub("", text)):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > levels:
            return True
    return False


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Duplicate(f"names the key {twice[:40]!r} twice")
    return found


def _refuse(name: str) -> Any:
    raise _Duplicate(f"must hold nothing but JSON values (no {name})")


def _position(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f": {error.msg} (line {error.lineno}, column {error.colno})"
    return ""
