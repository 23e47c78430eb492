"""A decision and the evidence it was made from, as people read them: what blocks is marked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import output
from duly.common.contract import Case, Verdict, write_case
from duly.common.contract.fields import EVIDENCE, OBSERVED

BLOCKS = "!"
_LONGEST_VALUE = 200


def decision_cell(verdict: Verdict) -> Text:
    """The decision's code in the colour of what it means."""
    style = "bold red" if verdict.decision.holds else "green" if verdict.runs else "yellow"
    return output.cell(verdict.decision.value, style)


def evidence(case: Case, verdict: Verdict | None) -> RenderableType:
    """The eighteen fields and what was observed beside them, one line each; ``!`` before those that block."""
    blocking = verdict.blocking_fields if verdict is not None else ()
    rows = []
    for name, value in _values(write_case(case)):
        blocks = name in blocking
        style = "bold red" if blocks else ""
        rows.append((output.cell(BLOCKS if blocks else " ", style), output.cell(name, style or "dim"), value))
    return output.columns(rows)


def _values(written: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for part, fields in (("evidence", EVIDENCE), ("observed", OBSERVED)):
        values = dict(written[part])
        for field in fields:
            yield (
                field.name,
                shown_value(field.name, values.pop(field.name)) if field.name in values else "(unreadable)",
            )
        for name, value in values.items():
            yield name, shown_value(name, value)


def shown_value(name: str, value: Any) -> str:
    """A value of a case as a person reads it; bounded."""
    if value is None or value == []:
        return "(none)"
    if name == "lease_claims":
        return "; ".join(f"{claim['lease_owner']} until {claim['lease_expires_at']}" for claim in value)
    if name == "backoff_state":
        return f"{value['delay_ms']} ms, not before {value['not_before']}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ..."
