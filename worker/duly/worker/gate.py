"""The gate between the lease and the work: may this attempt begin? The contract's answer, from the evidence. Pure."""

from __future__ import annotations

from duly.common.contract import BackoffState, Decision, decision_of
from duly.common.records.evidence import Evidence, Reconciled
from duly.common.records.occurrence import Effects
from duly.common.store.attempts import Judgement
from duly.worker.probe import NO_COMMITTED_RESULT


def needs_probe(evidence: Evidence, effects: Effects) -> bool:
    """Whether only the task's probe can say what an earlier attempt left behind."""
    return evidence.outcome_unknown and effects is Effects.GUARDED


def judge(evidence: Evidence, effects: Effects, probed: str | None = None) -> Judgement:
    """Decide by the contract; ``probed`` is the probe's answer, where it was asked.

    An unknown outcome is settled by what the task declares of its effect, or by its probe, and by nothing else.
    """
    unknown = evidence.outcome_unknown and not evidence.late_results
    reconciled = _settled(effects, probed) if unknown else Reconciled.BY_NOTHING
    return Judgement(decision_of(evidence.case(reconciled)), evidence, reconciled)


def _settled(effects: Effects, probed: str | None) -> Reconciled:
    if effects is Effects.IDEMPOTENT:
        return Reconciled.BY_DECLARATION
    if effects is Effects.GUARDED and probed == NO_COMMITTED_RESULT:
        return Reconciled.BY_PROBE
    return Reconciled.BY_NOTHING


def not_before_ms(judgement: Judgement) -> int:
    """When an attempt that is not due yet may be looked at again."""
    case = judgement.evidence.case()
    if judgement.decision is Decision.RETRY_NOT_YET_DUE and isinstance(case.backoff_state, BackoffState):
        return case.backoff_state.not_before_ms
    tick_ms, jitter_ms = case.occurrence_ms, case.applied_jitter_ms
    assert isinstance(tick_ms, int)
    return tick_ms + (jitter_ms if isinstance(jitter_ms, int) else 0)
