"""From parsed JSON to a case."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from duly.common.errors import InvalidField

from .case import UNREADABLE, Case
from .fields import EVIDENCE, OBSERVED, OPTIONAL, Field
from .showing import shown

_TOP = ("evidence", "observed")


class MalformedCase(InvalidField):
    """What was given is no case file; ``field`` names the part at fault."""

    code = "malformed_case"


def read_case(raw: object) -> Case:
    """The case that a JSON value holds; a field that is not there or not right is `UNREADABLE`.

    Raises `MalformedCase` when it is no case at all: not an object, a part missing, or a name that means nothing
    here. A misspelt name would otherwise look like a field that is missing.
    """
    if not isinstance(raw, dict):
        raise MalformedCase("case", 'must be an object with "evidence" and "observed"')
    _check_names("case", raw, _TOP)
    evidence, observed = (_part(raw, name) for name in _TOP)
    _check_names("evidence", evidence, [field.name for field in EVIDENCE])
    _check_names("observed", observed, [field.name for field in (*OBSERVED, *OPTIONAL)])
    optional = [field for field in OPTIONAL if field.name in observed]
    return Case(**_read(EVIDENCE, evidence), **_read(OBSERVED, observed), **_read(optional, observed))


def _part(raw: Mapping[str, object], name: str) -> dict[str, object]:
    part = raw.get(name)
    if isinstance(part, dict):
        return part
    raise MalformedCase(name, "must be an object" if name in raw else "is missing")


def _check_names(part: str, given: Mapping[str, object], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise MalformedCase(part, f"has no field {shown(name)}")


def _read(fields: Collection[Field], part: Mapping[str, object]) -> dict[str, Any]:
    return {
        field.attribute: field.kind.read(part[field.name]) if field.name in part else UNREADABLE for field in fields
    }
