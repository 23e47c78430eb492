"""Reading a schedules file: TOML with a ``[[schedule]]`` table for each schedule, checked as a whole."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from duly.common.cli.options import read_note
from duly.common.errors import DulyError, InvalidField
from duly.common.explain.text import count
from duly.common.instant import to_ms
from duly.common.records.definition import ScheduleDefinition, define
from duly.common.strict_json import read_array, read_object

MAX_BYTES = 10 * 1024 * 1024
_STATES = ("active", "paused")


class InvalidFile(DulyError):
    """The schedules file cannot be used; nothing was changed."""

    code = "invalid_file"

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Entry:
    """What a file says about one schedule. ``state``: ``active``, ``paused``, or None to leave it as it is."""

    definition: ScheduleDefinition
    state: str | None = None
    note: str = ""
    until_ms: int | None = None
    stated: frozenset[str] = frozenset()
    """The fields that the file names; the others have their defaults."""


def read_file(path: str) -> list[Entry]:
    """The entries of a file (``-`` is standard input); raises InvalidFile for the first one at fault."""
    return read_text(_text(path))


def read_text(text: str) -> list[Entry]:
    """The entries of a file's text."""
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise InvalidFile("the file is nested too deeply") from None
    except ValueError as error:
        raise InvalidFile(f"the file is not TOML: {error}") from None
    tables = content.pop("schedule", [])
    if content:
        raise InvalidFile(f"the file may hold [[schedule]] tables only, not {next(iter(content))[:40]!r}")
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise InvalidFile("write each schedule as a [[schedule]] table, with two brackets")
    return _distinct(_checked(tables))


def _text(path: str) -> str:
    try:
        if path == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise InvalidFile(f"cannot read {path[:200]}: {reason}", "file") from None
    if len(content) > MAX_BYTES:
        raise InvalidFile("the file is larger than 10 MiB", "file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidFile("the file is not UTF-8 text", "file") from None


def _checked(tables: list[dict[str, Any]]) -> list[Entry]:
    entries, faults = list[Entry](), list[InvalidFile]()
    for number, table in enumerate(tables, 1):
        try:
            entries.append(_entry(table))
        except DulyError as error:
            name = table.get("schedule_id")
            which = f"schedule '{name[:64]}'" if isinstance(name, str) and name else f"schedule number {number}"
            faults.append(InvalidFile(f"{which}: {error}", getattr(error, "field", None)))
    if faults:
        others = f" ({count(len(faults) - 1, 'more schedule')} at fault)" if len(faults) > 1 else ""
        raise InvalidFile(f"{faults[0]}{others}", faults[0].field)
    return entries


def _distinct(entries: list[Entry]) -> list[Entry]:
    seen = set[str]()
    for entry in entries:
        schedule_id = entry.definition.schedule_id
        if schedule_id in seen:
            raise InvalidFile(f"schedule '{schedule_id}' stands in the file twice", "schedule_id")
        seen.add(schedule_id)
    return entries


def _entry(table: Mapping[str, Any]) -> Entry:
    fields = {name: _plain(value) for name, value in table.items()}
    state, note, until = (fields.pop(name, None) for name in ("state", "note", "paused_until"))
    for name, read in (("args", read_array), ("kwargs", read_object)):
        text = fields.pop(f"{name}_json", None)
        if text is None:
            continue
        if name in fields or not isinstance(text, str):
            raise InvalidField(f"{name}_json", f"must be a string, in place of {name}")
        fields[name] = read(f"{name}_json", text)
    definition, stated = define(fields), frozenset(fields)
    if state is not None and state not in _STATES:
        raise InvalidField("state", "must be active or paused; a quarantine follows from holds")
    if state == "paused":
        return Entry(definition, state, _note(note), None if until is None else to_ms(until, "paused_until"), stated)
    for name, value in (("note", note), ("paused_until", until)):
        if value is not None:
            raise InvalidField(name, "goes with state = 'paused' only")
    return Entry(definition, state, stated=stated)


def _note(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidField("note", "is required with state = 'paused'")
    return read_note(value)


def _plain(value: Any) -> Any:
    """TOML's own instants as text, which the records then judge like any other."""
    return value.isoformat() if isinstance(value, datetime) else value
