"""Ticks of an earlier definition that were due, and not yet swept, when the definition was edited.

They are carried with the definition they belong to, so that an edit neither loses nor repeats a tick. The
sweep settles them before anything else of the schedule.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition

MAX_CARRIED = 20


@dataclass(frozen=True, slots=True)
class CarriedTicks:
    """Ticks of ``definition`` from ``next_run_ms`` up to ``until_ms``, the instant of the edit."""

    definition: ScheduleDefinition
    definition_revision: int
    next_run_ms: int
    until_ms: int


def dump(carried: Sequence[CarriedTicks]) -> str:
    """The text kept in the schedule's hash; empty when nothing is carried."""
    if not carried:
        return ""
    return canonical_json([[c.definition.to_json(), c.definition_revision, c.next_run_ms, c.until_ms] for c in carried])


def load(text: str) -> list[CarriedTicks]:
    """Read what `dump` wrote."""
    if not text:
        return []
    return [
        CarriedTicks(ScheduleDefinition.from_json(definition), revision, next_run_ms, until_ms)
        for definition, revision, next_run_ms, until_ms in json.loads(text)
    ]
