"""From a case to its verdict."""

from __future__ import annotations

from . import case as words
from .case import Case
from .decision import Decision, Verdict
from .explaining import explain, explain_holds
from .faults import Fault
from .gates import GATES, Gate, is_committed
from .kinds import is_text
from .timing import gives_way, is_overdue, released_ms, waits_for_retry

_OF_TICKS = tuple(gate for gate in GATES if gate.before_lease and not gate.of_schedule)


def decide(case: Case) -> Verdict:
    """The one decision that the case allows, with every hold there is; never raises on what `read_case` returns."""
    decision, found = _weigh(case)
    return _held(case, found) if found else _passed(case, decision)


def decision_of(case: Case) -> Decision:
    """The decision of `decide`, without the words that explain it to people."""
    return _weigh(case)[0]


def _weigh(case: Case) -> tuple[Decision, list[tuple[Gate, list[Fault]]]]:
    """The decision; and what the gates found, where it holds."""
    found = [(gate, faults) for gate in GATES if (faults := gate.faults(case))]
    if not found or found[0][0].hold is not Decision.HOLD_SCHEDULE_IDENTITY_INCOMPLETE:
        done = _nothing_left_to_guard(case)
        if done:
            return done, []
    return (found[0][0].hold, found) if found else (_beyond_the_gates(case), [])


def holds_before_lease(case: Case, standing: tuple[Decision, ...] | None = None) -> tuple[Decision, ...]:
    """The holds that are certain before anyone has a lease, in gate order, by the same gates that `decide` asks.

    ``standing``: what `standing_holds` said of another tick of the same schedule, so that it need not be asked again.
    """
    asked = standing_holds(case) if standing is None else standing
    passing = [gate.hold for gate in _OF_TICKS if gate.faults(case)]
    return tuple(gate.hold for gate in GATES if gate.hold in (*asked, *passing)) if asked or passing else ()


def standing_holds(case: Case) -> tuple[Decision, ...]:
    """Those of `holds_before_lease` that every tick of the case's schedule meets, in gate order."""
    return tuple(gate.hold for gate in GATES if gate.of_schedule and gate.faults(case))


def _nothing_left_to_guard(case: Case) -> Decision | None:
    if is_committed(case):
        return Decision.ALREADY_COMMITTED
    released = released_ms(case)
    due = released is None or not isinstance(case.now_ms, int) or case.now_ms >= released
    return None if due else Decision.NOT_DUE


def _beyond_the_gates(case: Case) -> Decision:
    """With every gate passed, whether to run and as what."""
    if waits_for_retry(case):
        return Decision.RETRY_NOT_YET_DUE
    if gives_way(case):
        return Decision.COALESCED_STALE_TICK
    if case.schedule_type == words.INTERVAL:
        return Decision.INTERVAL_RUN_REVIEW_REQUIRED
    on_time = case.trigger == words.MANUAL or case.missed_run_policy == words.SKIP or not is_overdue(case)
    return Decision.CALENDAR_RUN_REVIEW_REQUIRED if on_time else Decision.BOUNDED_CATCH_UP_REVIEW_REQUIRED


def _held(case: Case, found: list[tuple[Gate, list[Fault]]]) -> Verdict:
    blocking = dict.fromkeys(name for _, faults in found for fault in faults for name in fault.fields)
    return Verdict(
        decision=found[0][0].hold,
        holds=tuple(gate.hold for gate, _ in found),
        blocking_fields=tuple(blocking),
        explanation=explain_holds(case, found),
        review_owner=_review_owner(case),
    )


def _passed(case: Case, decision: Decision) -> Verdict:
    return Verdict(decision, (), (), explain(case, decision), _review_owner(case))


def _review_owner(case: Case) -> str | None:
    return case.review_owner if isinstance(case.review_owner, str) and is_text(case.review_owner) else None
