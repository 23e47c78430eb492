"""The gates, one small function each, in the order in which their holds decide.

A gate takes a case and returns its faults; with none it has passed. What it cannot read it cannot have checked, so
every unreadable input is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import case as words
from .case import UNREADABLE, Case, Claim
from .chronology import chronology
from .decision import Decision
from .faults import Fault, Faults, unread, value_of
from .fields import JOB_ID_PATTERN
from .kinds import is_text
from .showing import instant, listed, shown
from .timing import gives_way, rule_of, waits_for_retry

_JOB_ID = re.compile(JOB_ID_PATTERN, re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_POLICY_TYPES = {words.SINGLE: words.CALENDAR, words.COALESCE: words.INTERVAL}
_FIT_BOTH_TYPES = (words.SKIP, words.BACKFILL)
_TYPES = (words.CALENDAR, words.INTERVAL)
_OUTCOMES = (words.NONE, words.COMMITTED, words.NO_COMMITTED_RESULT)
_BEFORE_THE_WORK = (words.PENDING, words.LEASED, words.RETRY_WAIT)


def identity(case: Case) -> Faults:
    """Job, type, expression and zone are there, are what they must be, and agree."""
    rule = rule_of(case)
    sound = {
        "job_id": isinstance(case.job_id, str) and _JOB_ID.fullmatch(case.job_id) is not None,
        "schedule_type": case.schedule_type in _TYPES,
        "schedule_expression": rule.schedule_type is not None,
        "timezone": rule.zone_known,
    }
    faults: Faults = []
    unsound = tuple(name for name, fine in sound.items() if not fine)
    if unsound:
        faults.append(Fault(unsound, f"{listed(unsound)} cannot be read, so its schedule is not known"))
    if rule.zones_differ:
        says = f"its expression and timezone {shown(str(case.timezone))} name different zones"
        faults.append(Fault(("schedule_expression", "timezone"), says))
    if sound["schedule_type"] and rule.schedule_type not in (None, case.schedule_type):
        says = f"its type is {case.schedule_type} and its expression is of type {rule.schedule_type}"
        faults.append(Fault(("schedule_type", "schedule_expression"), says))
    return faults


def review_owner(case: Case) -> Faults:
    """Somebody answers for it."""
    if is_text(case.review_owner):
        return []
    return [Fault(("review_owner",), "nobody is named who answers for it (review_owner cannot be read)")]


def missed_run_policy(case: Case) -> Faults:
    """What becomes of missed ticks is decided, in a word that is known."""
    policy = case.missed_run_policy
    if policy in words.POLICIES:
        return []
    found = f"is {shown(policy)}, which decides nothing" if isinstance(policy, str) else "cannot be read"
    return [Fault(("missed_run_policy",), f"its missed-run policy {found}, and none may be invented")]


def idempotency_key(case: Case) -> Faults:
    """The key is bound to this very occurrence."""
    key, bound_to = case.idempotency_key, (case.job_id, case.occurrence_ms)
    unreadable = unread(case, "idempotency_key", "job_id", "occurrence")
    if unreadable:
        return [Fault(unreadable, f"{listed(unreadable)} cannot be read, so a repetition would not be recognised")]
    prefix = "{}@{}:".format(*bound_to)
    if isinstance(key, str) and key.startswith(prefix) and _DIGEST.fullmatch(key, len(prefix)):
        return []
    says = f"its idempotency key {shown(str(key))} is not bound to it ({shown(prefix)} and 16 hex digits)"
    return [Fault(("idempotency_key",), says)]


def policy_fits_type(case: Case) -> Faults:
    """The policy was chosen for this type of schedule, not carried over from the other one."""
    policy, kind, told = case.missed_run_policy, case.schedule_type, rule_of(case).schedule_type
    if policy in _FIT_BOTH_TYPES:
        return []
    made_for = _POLICY_TYPES.get(policy) if isinstance(policy, str) else None
    if made_for == kind:
        return []
    if made_for is None and kind == told:
        # What the policy has to fit is certain; that there is none is for the gate before to say.
        return []
    if made_for is None or kind not in _TYPES:
        says = "nothing shows that its policy was decided for this type of schedule"
        return [Fault(("missed_run_policy", "schedule_type"), says)]
    says = f"{policy} was decided for a schedule of type {made_for} and this is one of type {kind}; decide it anew"
    return [Fault(("missed_run_policy",), says)]


def jitter(case: Case) -> Faults:
    """It was released inside its window."""
    unreadable = unread(case, "applied_jitter_ms", "jitter_window")
    if unreadable:
        return [Fault(unreadable, f"{listed(unreadable)} cannot be read, so its jitter has no bound")]
    applied, window = case.applied_jitter_ms, case.jitter_window_ms
    if isinstance(applied, int) and isinstance(window, int) and 0 <= applied <= window:
        return []
    says = f"it was released {applied} ms after its tick, and the window is 0 to {window} ms"
    return [Fault(("applied_jitter_ms", "jitter_window"), says)]


def concurrent_claims(case: Case) -> Faults:
    """No lease but the recorded one claims it."""
    if not isinstance(case.lease_claims, tuple):
        return [Fault(("lease_claims",), "lease_claims cannot be read, so it may have two owners")]
    now_ms = case.now_ms
    # An expiry that cannot be compared with a clock has not been shown to have passed.
    alive = [claim for claim in case.lease_claims if not isinstance(now_ms, int) or claim.expires_ms > now_ms]
    holders = {(claim.lease_id, claim.lease_owner): claim for claim in alive}
    recorded = (case.lease_id, case.lease_owner)
    if not holders or holders.keys() == {recorded}:
        return []
    differ = {
        "lease_id": any(lease_id != case.lease_id for lease_id, _ in holders),
        "lease_owner": any(owner != case.lease_owner for _, owner in holders),
    }
    fields = ("lease_claims", *(name for name, differs in differ.items() if differs))
    return [Fault(fields, _claimed(list(holders.values()), case))]


def _claimed(claims: list[Claim], case: Case) -> str:
    told = [f"{shown(each.lease_owner)} until {instant(each.expires_ms)}" for each in claims[:2]]
    if len(claims) > 1:
        number = "two" if len(claims) == 2 else str(len(claims))
        rest = f" and {len(claims) - 2} more" if len(claims) > 2 else ""
        return f"{number} unexpired leases claim it, {listed(told)}{rest}"
    owner = shown(case.lease_owner) if isinstance(case.lease_owner, str) else "nobody"
    return f"an unexpired lease of {told[0]} claims it and is not the one on record, which is {owner}'s"


def lease_expired(case: Case) -> Faults:
    """A run that had begun still has its lease, or its outcome is known."""
    if case.prior_outcome in (words.COMMITTED, words.NO_COMMITTED_RESULT) or not _had_begun(case):
        return []
    now_ms, expires_ms = case.now_ms, case.lease_expires_ms
    if isinstance(now_ms, int) and isinstance(expires_ms, int) and expires_ms > now_ms:
        return []
    unreadable = unread(case, "now")
    if case.run_state not in words.RUN_STATES:
        unreadable += ("run_state",)
    when = f"at {instant(expires_ms)}" if isinstance(expires_ms, int) else "at an unknown instant"
    says = f"its lease of {_owner(case)} expired {when} after the work had begun, and its outcome is not known"
    if unreadable:
        says = f"{listed(unreadable)} cannot be read, so its lease may have expired in the middle of the work"
    return [Fault(("lease_expires_at", "prior_outcome", *unreadable), says)]


def _had_begun(case: Case) -> bool:
    """Whether the work may have started; a held occurrence may have been held for something else."""
    if case.run_state == words.HELD:
        return case.prior_outcome not in _OUTCOMES
    return case.run_state == words.RUNNING or case.run_state not in words.RUN_STATES


def prior_outcome(case: Case) -> Faults:
    """What earlier attempts left behind is known, and state and result say the same."""
    outcome, state = case.prior_outcome, case.run_state
    unreadable = unread(case, "result_ref")
    if state not in words.RUN_STATES:
        unreadable = ("run_state", *unreadable)
    if outcome not in _OUTCOMES:
        found = "is UNKNOWN" if outcome == words.UNKNOWN else "cannot be read"
        return [
            Fault(("prior_outcome", *unreadable), f"its prior outcome {found}, so an earlier run may have taken effect")
        ]
    if unreadable:
        return [Fault(unreadable, f"{listed(unreadable)} cannot be read, and would have to bear out its prior outcome")]
    if is_committed(case):
        return []
    wrong: list[str] = []
    result = case.result_ref is not None
    if outcome == words.COMMITTED or state == words.SUCCEEDED or result:
        # Whichever of the three speaks of a result, the others do not bear it out.
        wrong += ["prior_outcome"]
        wrong += ["run_state"] if (state == words.SUCCEEDED) != (outcome == words.COMMITTED) else []
        wrong += ["result_ref"] if result != (outcome == words.COMMITTED) else []
    if state not in _BEFORE_THE_WORK:
        wrong += ["run_state"]
    ref = shown(str(case.result_ref)) if result else "none"
    says = f"prior_outcome {outcome}, run_state {state} and result {ref} do not go with another attempt"
    return [Fault(tuple(dict.fromkeys(wrong)), says)] if wrong else []


def is_committed(case: Case) -> bool:
    """Whether outcome, state and result agree that the work is done."""
    return case.prior_outcome == words.COMMITTED and case.run_state == words.SUCCEEDED and is_text(case.result_ref)


def lease(case: Case) -> Faults:
    """One recorded owner holds an unexpired lease, unless nothing would be run anyway."""
    if gives_way(case) or waits_for_retry(case):
        return []
    now_ms, expires_ms = case.now_ms, case.lease_expires_ms
    missing = tuple(name for name in ("lease_id", "lease_owner") if not is_text(value_of(case, name)))
    missing += () if isinstance(expires_ms, int) else ("lease_expires_at",)
    missing += () if isinstance(now_ms, int) else ("now",)
    if missing:
        return [Fault(missing, f"no lease is proven for it ({listed(missing)} not given)")]
    if isinstance(now_ms, int) and isinstance(expires_ms, int) and expires_ms <= now_ms:
        return [Fault(("lease_expires_at",), f"its lease of {_owner(case)} expired at {instant(expires_ms)}")]
    return []


def retry_budget(case: Case) -> Faults:
    """The attempt is one of those allowed."""
    unreadable = unread(case, "attempt", "retry_budget")
    if unreadable:
        return [Fault(unreadable, f"{listed(unreadable)} cannot be read, so its attempts have no bound")]
    attempt, budget = case.attempt, case.retry_budget
    if isinstance(attempt, int) and isinstance(budget, int) and 1 <= attempt <= budget:
        return []
    return [Fault(("attempt", "retry_budget"), _spent(attempt, budget))]


def _spent(attempt: object, budget: object) -> str:
    """What was made of the budget; the attempt that is asked about has not happened."""
    if not (isinstance(attempt, int) and isinstance(budget, int) and attempt > budget > 0):
        return f"an attempt of number {attempt} is none that a budget of {budget} allows"
    if attempt > budget + 1:
        return f"{attempt - 1} attempts were made, its budget is {budget}, and none succeeded"
    if budget == 1:
        return "its only attempt was made and did not succeed; another would be beyond its budget"
    made = "both of its 2 attempts were" if budget == 2 else f"all of its {budget} attempts were"
    return f"{made} made and none succeeded; another would be beyond its budget"


def backoff(case: Case) -> Faults:
    """An attempt after a failed one knows how long to wait."""
    if case.backoff_state is UNREADABLE:
        return [Fault(("backoff_state",), "backoff_state cannot be read, so it may be too early for another attempt")]
    if case.backoff_state is not None or case.attempt == 1:
        return []
    if not isinstance(case.attempt, int):
        says = "attempt cannot be read, and without one a missing backoff_state means nothing"
        return [Fault(("backoff_state", "attempt"), says)]
    return [Fault(("backoff_state",), f"attempt {case.attempt} has no backoff state from the one before")]


def _owner(case: Case) -> str:
    return shown(case.lease_owner) if isinstance(case.lease_owner, str) else "nobody known"


@dataclass(frozen=True, slots=True)
class Gate:
    """A hold, and what is asked before it can be ruled out."""

    hold: Decision
    faults: Callable[[Case], Faults]
    before_lease: bool = False
    """Whether the scheduler can ask before anyone has a lease."""
    of_schedule: bool = False
    """Whether all that it looks at is the same for every tick of a schedule."""


GATES: Final = (
    Gate(Decision.HOLD_SCHEDULE_IDENTITY_INCOMPLETE, identity, before_lease=True, of_schedule=True),
    Gate(Decision.HOLD_REVIEW_OWNER_MISSING, review_owner, before_lease=True, of_schedule=True),
    Gate(Decision.HOLD_MISSED_RUN_POLICY_UNKNOWN, missed_run_policy, before_lease=True, of_schedule=True),
    Gate(Decision.HOLD_IDEMPOTENCY_KEY_MISSING, idempotency_key, before_lease=True),
    Gate(Decision.HOLD_POLICY_NOT_RECOMPUTED, policy_fits_type, before_lease=True, of_schedule=True),
    Gate(Decision.HOLD_CHRONOLOGY_INVALID, chronology, before_lease=True),
    Gate(Decision.HOLD_JITTER_EXCEEDS_WINDOW, jitter, before_lease=True),
    Gate(Decision.HOLD_CONCURRENT_LEASE_CLAIM, concurrent_claims),
    Gate(Decision.HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN, lease_expired),
    Gate(Decision.HOLD_PRIOR_OUTCOME_UNKNOWN, prior_outcome),
    Gate(Decision.HOLD_LEASE_MISSING, lease),
    Gate(Decision.HOLD_RETRY_BUDGET_EXHAUSTED, retry_budget),
    Gate(Decision.HOLD_BACKOFF_STATE_MISSING, backoff),
)
