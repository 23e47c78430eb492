"""A verdict in one sentence or two, for somebody who is tired and has only this case before them."""

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
    beside = f" Beside that: {_clauses([_BESIDE[gate.hold] for gate, _ in others])}."
    return _bounded(f"{first}.", LONGEST - len(beside)) + beside


def _clauses(briefs: Sequence[str]) -> str:
    """``a``, ``a, and b``, ``a, b, and c``; what there is no room for is counted."""
    told = list(briefs[:_OTHERS])
    if len(briefs) > _OTHERS:
        told.append(f"{len(briefs) - _OTHERS} more")
    return ", ".join([*told[:-1], f"and {told[-1]}" if len(told) > 1 else told[-1]])


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

_BESIDE: Final[dict[Decision, str]] = {
    Decision.HOLD_SCHEDULE_IDENTITY_INCOMPLETE: "its schedule is not known",
    Decision.HOLD_REVIEW_OWNER_MISSING: "nobody is named who answers for it",
    Decision.HOLD_MISSED_RUN_POLICY_UNKNOWN: "its missed-run policy decides nothing",
    Decision.HOLD_IDEMPOTENCY_KEY_MISSING: "its idempotency key is not shown to be its own",
    Decision.HOLD_POLICY_NOT_RECOMPUTED: "its policy was decided for another type of schedule",
    Decision.HOLD_CHRONOLOGY_INVALID: "its instants do not agree",
    Decision.HOLD_JITTER_EXCEEDS_WINDOW: "its jitter is not shown to be inside its window",
    Decision.HOLD_CONCURRENT_LEASE_CLAIM: "another lease may claim it",
    Decision.HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN: "its lease may have ended in the middle of the work",
    Decision.HOLD_PRIOR_OUTCOME_UNKNOWN: "what earlier attempts left behind is not certain",
    Decision.HOLD_LEASE_MISSING: "no lease is proven for it",
    Decision.HOLD_RETRY_BUDGET_EXHAUSTED: "no attempt is shown to be left in its budget",
    Decision.HOLD_BACKOFF_STATE_MISSING: "no backoff state is known",
}
"""What each hold says beside the one that decided; true also where it holds because something cannot be read."""
