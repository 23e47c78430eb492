"""The fields of a case as people read them: what each means, what it holds, and whether it blocks. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from duly.common.contract import Case, Verdict, write_case
from duly.common.contract.fields import EVIDENCE, OBSERVED, Field

_LONGEST_VALUE = 200


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a case; ``value`` is bounded text."""

    name: str
    title: str
    meaning: str
    value: str
    blocks: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """The eighteen fields, and what was observed beside them."""

    evidence: tuple[Fact, ...]
    observed: tuple[Fact, ...]


def facts_of(case: Case, verdict: Verdict | None) -> Facts:
    """All fields of a case, those that the contract does not know behind the others; None: nothing is decided."""
    written = write_case(case)
    blocking = frozenset(() if verdict is None else verdict.blocking_fields)
    return Facts(
        tuple(_facts(EVIDENCE, written["evidence"], blocking)), tuple(_facts(OBSERVED, written["observed"], blocking))
    )


def _facts(fields: Iterable[Field], values: Mapping[str, Any], blocking: frozenset[str]) -> Iterator[Fact]:
    left = dict(values)
    for field in fields:
        shown = _shown(field.name, left.pop(field.name)) if field.name in left else "(unreadable)"
        yield Fact(field.name, field.title, field.description, shown, field.name in blocking)
    for name, value in left.items():
        yield Fact(name, name.replace("_", " ").capitalize(), "", _shown(name, value), name in blocking)


def _shown(name: str, value: Any) -> str:
    if value is None or value == []:
        return "(none)"
    if name == "lease_claims":
        return "; ".join(f"{claim['lease_owner']} until {claim['lease_expires_at']}" for claim in value)
    if name == "backoff_state":
        return f"{value['delay_ms']} ms, not before {value['not_before']}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} ..."
