"""From a case to the JSON of its file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .case import BY_EXPRESSION, TIMETABLE, UNREADABLE, Case
from .fields import EVIDENCE, OBSERVED, OPTIONAL, Field

_DEFAULTS = (("trigger", TIMETABLE), ("later_tick_ms", BY_EXPRESSION))


def write_case(case: Case) -> dict[str, Any]:
    """What `read_case` reads as the same case: instants in RFC 3339, no unreadable field, no default spelled out.

    An optional field that cannot be read is written as an empty text. Left out it would have its default, and the
    case could pass where it held.
    """
    optional = [field for field in OPTIONAL if (field.attribute, getattr(case, field.attribute)) not in _DEFAULTS]
    observed = {**_write(OBSERVED, case), **{field.name: "" for field in optional}, **_write(optional, case)}
    return {"evidence": _write(EVIDENCE, case), "observed": observed}


def _write(fields: Iterable[Field], case: Case) -> dict[str, Any]:
    values = [(field, getattr(case, field.attribute)) for field in fields]
    return {field.name: field.kind.write(value) for field, value in values if value is not UNREADABLE}
