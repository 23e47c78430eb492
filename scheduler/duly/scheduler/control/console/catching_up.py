"""What came of a catch-up, on its way through an address: as a code and a tick, never as text."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.errors import InvalidField
from duly.common.explain.resolution import CatchUp
from duly.common.identity import check_tick_ms

_RUN = "caught_up"
_OTHER = "not_caught_up"
_UNKNOWN = "It is not known whether the latest missed tick is run too: look at the schedule's page."
_TOLD = {
    _RUN: "Run too, as the latest tick that was missed",
    "nothing_missed": "Nothing is caught up: no tick of its present timing was missed.",
    "held": "Nothing is caught up: something else of the schedule is still held.",
    "paused": "Nothing is caught up: the schedule is paused. Resume it with the latest missed tick.",
    "schedule_not_found": "Nothing is caught up: the schedule was deleted.",
    "revision_conflict": "Nothing is caught up: somebody changed the schedule at the same moment.",
    "unusable_schedule": "Nothing is caught up: the schedule is stored in a form that cannot be used.",
    "store_unavailable": _UNKNOWN,
    "store_refused": _UNKNOWN,
    "store_protocol": _UNKNOWN,
    _OTHER: "Nothing is caught up.",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A line for a person, and the tick that it is about, where there is one."""

    text: str
    tick_ms: int | None


def as_query(caught_up: CatchUp) -> dict[str, str]:
    """What an address says of it."""
    code = caught_up.code if caught_up.code in _TOLD else _OTHER
    return {"catch_up": code} | ({} if caught_up.tick_ms is None else {"caught": str(caught_up.tick_ms)})


def of_query(code: str, tick: str) -> Told | None:
    """What an address says of it, in words; None where it says nothing that `as_query` makes."""
    text = _TOLD.get(code)
    tick_ms = given_tick(tick) if code == _RUN else None
    return None if text is None or (code == _RUN and tick_ms is None) else Told(text, tick_ms)


def given_tick(text: str) -> int | None:
    """The tick that an address names; None where it names none."""
    try:
        return check_tick_ms(text)
    except InvalidField:
        return None
