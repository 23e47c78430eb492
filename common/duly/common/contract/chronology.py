"""The gate of instants: each a tick, all in the one order that ticks of a schedule can have."""

from __future__ import annotations

from . import case as words
from .case import Case
from .faults import Fault, Faults, unread
from .showing import instant, listed, shown
from .timing import rule_of


def chronology(case: Case) -> Faults:
    """Its instants are ticks, and stand in the one order that ticks of a schedule can have."""
    unreadable = unread(case, "now", "last_run_at", "next_run_at", "occurrence", "later_tick", "trigger")
    if case.trigger not in (words.TIMETABLE, words.MANUAL) and "trigger" not in unreadable:
        unreadable += ("trigger",)
    unreadable += rule_of(case).faults
    faults: Faults = []
    if unreadable:
        faults.append(Fault(unreadable, f"{listed(unreadable)} cannot be read, so the order of its ticks is not known"))
    return [*faults, *_no_ticks(case), *_backwards(case)]


def _no_ticks(case: Case) -> Faults:
    """Instants that the expression does not name; those of an extra run need not be ticks."""
    rule = rule_of(case)
    given = {"last_run_at": case.last_run_ms, "next_run_at": case.next_run_ms, "occurrence": case.occurrence_ms}
    if case.trigger == words.MANUAL:
        del given["occurrence"]
        if case.next_run_ms == case.occurrence_ms:
            del given["next_run_at"]
    if rule.expression is None:
        return []
    return [
        Fault((name,), f"{name} {instant(ms)} is no tick of {shown(str(case.schedule_expression))}")
        for name, ms in given.items()
        if isinstance(ms, int) and not rule.expression.is_tick(ms)
    ]


def _backwards(case: Case) -> Faults:
    """Pairs of instants in the wrong order."""
    last, following, this = case.last_run_ms, case.next_run_ms, case.occurrence_ms
    faults: Faults = []
    manual = case.trigger == words.MANUAL
    stands_here = manual and following == this
    if isinstance(last, int) and isinstance(following, int) and following <= last and not stands_here:
        says = f"next_run_at {instant(following)} is not after last_run_at {instant(last)}"
        faults.append(Fault(("next_run_at", "last_run_at"), says))
    if isinstance(last, int) and isinstance(this, int) and this <= last and not manual:
        says = f"it is not after last_run_at {instant(last)}"
        faults.append(Fault(("occurrence", "last_run_at"), says))
    if isinstance(following, int) and isinstance(this, int) and following < this and not manual:
        says = f"next_run_at {instant(following)} is before it"
        faults.append(Fault(("next_run_at", "occurrence"), says))
    if isinstance(case.later_tick_ms, int) and isinstance(this, int) and case.later_tick_ms <= this:
        says = f"later_tick {instant(case.later_tick_ms)} is not later"
        faults.append(Fault(("later_tick", "occurrence"), says))
    return faults
