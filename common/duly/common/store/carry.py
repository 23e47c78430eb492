"""Ticks that the sweep settles before anything else of their schedule, carried with the definition they belong to.

Ticks that were due, and not yet swept, when the definition was edited: so that an edit neither loses nor repeats a
tick. And the tick that a reviewer wants to run after all, when the hold that kept it from running is resolved.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from duly.common.errors import InvalidField
from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition

MAX_CARRIED = 20


@dataclass(frozen=True, slots=True)
class CarriedTicks:
    """Ticks of ``definition`` from ``next_run_ms`` up to ``until_ms``, the instant of the edit.

    ``asked_for``: somebody wants them, so an earlier run of the schedule makes them wait and not be skipped.
    """

    definition: ScheduleDefinition
    definition_revision: int
    next_run_ms: int
    until_ms: int
    asked_for: bool = False


def dump(carried: Sequence[CarriedTicks]) -> str:
    """The text kept in the schedule's hash; empty when nothing is carried."""
    if not carried:
        return ""
    return canonical_json(
        [[c.definition.to_json(), c.definition_revision, c.next_run_ms, c.until_ms, c.asked_for] for c in carried]
    )


def load(text: str) -> list[CarriedTicks]:
    """Read what `dump` wrote; raises InvalidField when it is anything else."""
    if not text:
        return []
    try:
        carried = [
            CarriedTicks(ScheduleDefinition.from_json(definition), *where) for definition, *where in json.loads(text)
        ]
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidField("carry", "cannot be read") from error
    if not carried or not all(_is_whole(each) for each in carried):
        raise InvalidField("carry", "cannot be read")
    return carried


def _is_whole(carried: CarriedTicks) -> bool:
    numbers = (carried.definition_revision, carried.next_run_ms, carried.until_ms)
    return all(type(each) is int for each in numbers) and type(carried.asked_for) is bool
