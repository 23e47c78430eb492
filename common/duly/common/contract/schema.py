"""The JSON Schema of a case file (draft 2020-12).

It describes a case in which everything can be read. A file that breaks it in a value may still be decided: it holds.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .fields import EVIDENCE, OBSERVED, OPTIONAL, Field


def schema() -> dict[str, Any]:
    """A fresh copy of the schema."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Case of a due occurrence",
        "description": "The evidence about one due occurrence, from which `duly contract decide` decides. A field "
        "that is missing, null where null says nothing, or malformed is evidence of nothing, and holds.",
        "type": "object",
        "properties": {
            "evidence": _part("Evidence", "What the durable record says, read at one instant.", EVIDENCE),
            "observed": _part("Observed", "What was seen when the record was read.", OBSERVED, OPTIONAL),
        },
        "required": ["evidence", "observed"],
        "additionalProperties": False,
    }


def _part(title: str, description: str, required: Sequence[Field], optional: Sequence[Field] = ()) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "object",
        "properties": {field.name: _property(field) for field in (*required, *optional)},
        "required": [field.name for field in required],
        "additionalProperties": False,
    }


def _property(field: Field) -> dict[str, Any]:
    return {"title": field.title, "description": field.description, **copy.deepcopy(field.kind.shape)}
