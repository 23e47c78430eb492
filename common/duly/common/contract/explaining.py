"""A verdict in one sentence, for somebody who is tired and has only this case before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from .case import BackoffState, Case
from .decision import Decision
from .faults import Fault
from .gates import Gate
from .kinds import is_text
from .showing import called, instant, shown
from .timing import later_due_tick, released_ms

LONGEST: Final = 300
_OTHERS: Final = 3


def explain(case: Case, decision: Decision) -> str:
    """Why nothing holds, and what follows."""
    return _bounded(f"{called(case)} {_SENTENCES[decision](case)}.")


def explain_holds(case: Case, found: Sequence[tuple[Gate, Sequence[Fault]]]) -> str:
    """Why the first hold there is holds, and what the others are about."""
    (_, faults), *others = found
    owner = f" for {shown(str(case.review_owner))}" if is_text(case.review_owner) else ""
    first = f"{called(case)} is held{owner}: {'; '.join(fault.says for fault in faults)}"
    if not others:
        return _bounded(f"{first}.")
    briefs = [gate.brief for gate, _ in others]
    rest = f" and {len(briefs) - _OTHERS} more" if len(briefs) > _OTHERS else ""
    also = f"; also: {', '.join(briefs[:_OTHERS])}{rest}."
    return _bounded(first, LONGEST - len(also)) + also


def _bounded(sentence: str, longest: int = LONGEST) -> str:
    return sentence if len(sentence) <= longest else f"{sentence[: longest - 3]}..."


def _not_due(case: Case) -> str:
    return f"is not due before {instant(released_ms(case))}, and it is {instant(case.now_ms)}"


def _committed(case: Case) -> str:
    return f"is done already; its result is {shown(str(case.result_ref))}"


def _waits(case: Case) -> str:
    until = case.backoff_state.not_before_ms if isinstance(case.backoff_state, BackoffState) else None
    return f"waits to be tried again until {instant(until)}, and it is {instant(case.now_ms)}"


def _coalesced(case: Case) -> str:
    later = instant(later_due_tick(case))
    return f"is stale and not run: the tick of {later} is due too, and {case.missed_run_policy} leaves the work to it"


def _runs(case: Case) -> str:
    return f"{_may_run(case)}: {_lease_and_attempt(case)}"


def _catches_up(case: Case) -> str:
    under = f"is overdue at {instant(case.now_ms)} and may be caught up under {case.missed_run_policy}"
    return f"{under}: {_lease_and_attempt(case)}"


def _may_run(case: Case) -> str:
    later = later_due_tick(case)
    if later is None:
        return "is due and may run"
    why = f"{case.missed_run_policy}, attempt {case.attempt}"
    return f"may run although the tick of {instant(later)} is due too ({why})"


def _lease_and_attempt(case: Case) -> str:
    owner, lease = shown(str(case.lease_owner)), shown(str(case.lease_id))
    until = instant(case.lease_expires_ms)
    return f"{owner} holds {lease} until {until}, for attempt {case.attempt} of {case.retry_budget}"


_SENTENCES: Final[dict[Decision, Callable[[Case], str]]] = {
    Decision.CALENDAR_RUN_REVIEW_REQUIRED: _runs,
    Decision.BOUNDED_CATCH_UP_REVIEW_REQUIRED: _catches_up,
    Decision.INTERVAL_RUN_REVIEW_REQUIRED: _runs,
    Decision.COALESCED_STALE_TICK: _coalesced,
    Decision.NOT_DUE: _not_due,
    Decision.RETRY_NOT_YET_DUE: _waits,
    Decision.ALREADY_COMMITTED: _committed,
}
