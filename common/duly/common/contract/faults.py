"""What a gate finds wrong with a case."""

from __future__ import annotations

from dataclasses import dataclass

from .case import UNREADABLE, Case
from .fields import ALL

_ATTRIBUTES = {field.name: field.attribute for field in ALL}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a gate did not pass: the fields at fault, and a clause about the occurrence, which it calls "it"."""

    fields: tuple[str, ...]
    says: str


Faults = list[Fault]


def unread(case: Case, *names: str) -> tuple[str, ...]:
    """Those of some fields of the file that cannot be read."""
    return tuple(name for name in names if value_of(case, name) is UNREADABLE)


def value_of(case: Case, name: str) -> object:
    """What the case has for a field of the file."""
    return getattr(case, _ATTRIBUTES[name])
