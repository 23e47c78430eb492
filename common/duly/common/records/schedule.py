"""A schedule as the store keeps it: the owner's definition, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duly.common.instant import stored_ms, to_rfc3339
from duly.common.records.definition import ScheduleDefinition


class ScheduleState(StrEnum):
    """`quarantined` is not stored: a schedule is quarantined exactly while one of its occurrences is held."""

    ACTIVE = "active"
    PAUSED = "paused"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """One schedule at one instant. Instants are epoch milliseconds; None where there is none."""

    definition: ScheduleDefinition
    revision: int
    definition_revision: int
    incarnation: str
    state: ScheduleState
    note: str
    next_run_ms: int | None
    last_run_ms: int | None
    last_outcome: str | None
    paused_until_ms: int | None
    created_ms: int
    updated_ms: int
    held: int
    """How many of its occurrences are held."""
    carry: str = ""
    """Earlier definitions with ticks that still wait for the sweep; see `duly.common.store.carry`."""
    last_tick_ms: int | None = None
    """The latest tick that became an occurrence."""
    timing_ms: int = 0
    """Since when its expression and bounds are as they are: no tick up to then is one of its own."""

    @property
    def schedule_id(self) -> str:
        return self.definition.schedule_id

    @classmethod
    def from_hash(cls, fields: Mapping[str, str], held: int) -> ScheduleRecord:
        """Read the store's hash; raises InvalidField when its definition is no longer valid."""
        state = ScheduleState(fields["state"])
        if held and state is ScheduleState.ACTIVE:
            state = ScheduleState.QUARANTINED
        return cls(
            definition=ScheduleDefinition.from_json(fields["definition"]),
            revision=int(fields["revision"]),
            definition_revision=int(fields["definition_revision"]),
            incarnation=fields["incarnation"],
            state=state,
            note=fields.get("note", ""),
            next_run_ms=_instant(fields, "next_run_ms"),
            last_tick_ms=_tick(fields, "last_tick_ms"),
            timing_ms=_instant(fields, "timing_ms") or stored_ms(fields["created_ms"]),
            last_run_ms=_instant(fields, "last_run_ms"),
            last_outcome=fields.get("last_outcome"),
            paused_until_ms=_instant(fields, "paused_until_ms"),
            created_ms=stored_ms(fields["created_ms"]),
            updated_ms=stored_ms(fields["updated_ms"]),
            held=held,
            carry=fields.get("carry", ""),
        )

    def to_dict(self) -> dict[str, Any]:
        """As `--json` and the API print it."""
        return {
            **self.definition.model_dump(mode="json"),
            "state": self.state.value,
            "note": self.note,
            "paused_until": _written(self.paused_until_ms),
            "revision": self.revision,
            "schedule_type": self.definition.expression.schedule_type,
            "timezone": self.definition.expression.timezone,
            "next_run_at": _written(self.next_run_ms),
            "next_run_ms": self.next_run_ms,
            "last_run_at": _written(self.last_run_ms),
            "last_outcome": self.last_outcome,
            "held": self.held,
            "created_at": _written(self.created_ms),
            "updated_at": _written(self.updated_ms),
        }


def _instant(fields: Mapping[str, str], name: str) -> int | None:
    return stored_ms(fields[name]) if fields.get(name) else None


def _tick(fields: Mapping[str, str], name: str) -> int | None:
    """The tick of a field that holds -1 while there is none."""
    return None if fields.get(name, "-1") == "-1" else stored_ms(fields[name])


def _written(ms: int | None) -> str | None:
    return None if ms is None else to_rfc3339(ms)
