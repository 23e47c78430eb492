"""What the store knew of an occurrence at one instant, as the case that the contract decides.

The scripts read it (`store/lua/lib/evidence.lua`) and keep it with every decision. Nothing is filled in here: what the
store does not hold, or holds in a form that cannot be read, is unreadable to the contract, and holds. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypedDict

from duly.common.contract import UNREADABLE, BackoffState, Case, Claim, Decision, Unreadable, Verdict, decide
from duly.common.identity import LAST_TICK_MS, Occurrence, canonical_json, idempotency_key
from duly.common.records.definition import MissedRunPolicy, ScheduleDefinition

MOST_DECISIONS = 10_000
"""More than any occurrence can have: what claims more was not written by the store."""


class Reconciled(StrEnum):
    """What settled the unknown outcome of an earlier attempt, so that another one may be made (DESIGN, section 7)."""

    BY_NOTHING = ""
    BY_DECLARATION = "idempotent"
    """The task declares that its effect may be repeated."""
    BY_PROBE = "probe"
    """The task's probe said that nothing was committed."""


class Model(TypedDict):
    """What every occurrence keeps of its schedule's model, in the contract's words."""

    schedule_type: str
    schedule_expression: str
    timezone: str
    missed_run_policy: str
    jitter_window: int


def model_of(definition: ScheduleDefinition) -> Model:
    """The model of a schedule."""
    expression = definition.expression
    return {
        "schedule_type": expression.schedule_type,
        "schedule_expression": definition.spec,
        "timezone": expression.timezone,
        "missed_run_policy": _policy(definition),
        "jitter_window": definition.jitter_window_ms,
    }


def _policy(definition: ScheduleDefinition) -> str:
    if definition.policy is MissedRunPolicy.SKIP:
        return "SKIP"
    if definition.policy is MissedRunPolicy.BACKFILL:
        return "BACKFILL_BOUNDED"
    return "SINGLE_BOUNDED_CATCH_UP" if definition.expression.schedule_type == "calendar" else "COALESCE_STALE_TICKS"


def unleased_case(
    definition: ScheduleDefinition,
    tick_ms: int,
    *,
    now_ms: int,
    jitter_ms: int,
    last_run_ms: int | None,
    next_run_ms: int | None,
) -> Case:
    """The case of a tick before it is an occurrence: nobody has a lease, and nothing of earlier attempts was looked at.

    ``last_run_ms``: the latest tick whose run has finished; ``next_run_ms``: where the schedule stands then.
    """
    model = model_of(definition)
    return Case(
        job_id=definition.schedule_id,
        schedule_type=model["schedule_type"],
        schedule_expression=model["schedule_expression"],
        timezone=model["timezone"],
        last_run_ms=last_run_ms,
        next_run_ms=tick_ms if next_run_ms is None else next_run_ms,
        missed_run_policy=model["missed_run_policy"],
        jitter_window_ms=model["jitter_window"],
        lease_id=None,
        lease_owner=None,
        lease_expires_ms=None,
        idempotency_key=idempotency_key(Occurrence(definition.schedule_id, tick_ms), definition.digest),
        attempt=1,
        retry_budget=definition.retry_budget,
        backoff_state=None,
        run_state="PENDING",
        result_ref=None,
        review_owner=definition.review_owner,
        now_ms=now_ms,
        occurrence_ms=tick_ms,
        prior_outcome=UNREADABLE,
        lease_claims=UNREADABLE,
        applied_jitter_ms=jitter_ms,
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """``text`` is the store's own, to be given back to it with the decision; ``fields`` is what it says."""

    occurrence: Occurrence
    text: str
    fields: Mapping[str, Any]

    @classmethod
    def from_text(cls, occurrence: Occurrence, text: str) -> Evidence:
        """Read what a script gave; raises ValueError when it is not one JSON object."""
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise ValueError("evidence must be a JSON object")
        return cls(occurrence, text, fields)

    @property
    def outcome_unknown(self) -> bool:
        """Whether nothing is known of an earlier attempt's effect."""
        return self.fields.get("prior_outcome") == "UNKNOWN"

    @property
    def late_results(self) -> bool:
        """Whether an owner who could not prove its lease has reported a result, and no reviewer has seen it."""
        return "late_results" in self.fields

    def case(self, reconciled: Reconciled = Reconciled.BY_NOTHING) -> Case:
        """The case that the contract decides. ``reconciled`` settles an unknown outcome as NO_COMMITTED_RESULT."""
        model = _model(self.fields.get("model"))
        prior = self._text("prior_outcome")
        if self.late_results:  # whatever a task declares or its probe says of effects
            prior = "UNKNOWN"
        elif prior == "UNKNOWN" and reconciled is not Reconciled.BY_NOTHING:
            prior = "NO_COMMITTED_RESULT"
        return Case(
            job_id=self.occurrence.schedule_id,
            schedule_type=_word(model, "schedule_type"),
            schedule_expression=_word(model, "schedule_expression"),
            timezone=_word(model, "timezone"),
            last_run_ms=self._optional("last_run_ms"),
            next_run_ms=self._number("next_run_ms"),
            missed_run_policy=_word(model, "missed_run_policy"),
            jitter_window_ms=_size(model, "jitter_window"),
            lease_id=self.fields.get("lease_id"),
            lease_owner=self.fields.get("lease_owner"),
            lease_expires_ms=self._optional("lease_expires_ms"),
            idempotency_key=self._text("idempotency_key"),
            attempt=self._number("attempt"),
            retry_budget=self._number("retry_budget"),
            backoff_state=self._backoff(),
            run_state=self._text("state"),
            result_ref=self.fields.get("result_ref"),
            review_owner=self._text("review_owner"),
            now_ms=self._number("now_ms"),
            occurrence_ms=self.occurrence.tick_ms,
            prior_outcome=prior,
            lease_claims=self._claims(),
            applied_jitter_ms=self._number("applied_jitter_ms"),
            trigger="manual" if self.fields.get("kind") == "manual" else "timetable",
            later_tick_ms=self._optional("later_tick_ms"),
        )

    def _text(self, name: str) -> str | Unreadable:
        return _word(self.fields, name)

    def _number(self, name: str) -> int | Unreadable:
        value = self.fields.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 15:
            return int(value) if int(value) <= LAST_TICK_MS else UNREADABLE
        return UNREADABLE

    def _optional(self, name: str) -> int | Unreadable | None:
        return self._number(name) if name in self.fields else None

    def _backoff(self) -> BackoffState | Unreadable | None:
        if "not_before_ms" not in self.fields and "backoff_delay_ms" not in self.fields:
            return None
        delay_ms, not_before_ms = self._number("backoff_delay_ms"), self._number("not_before_ms")
        if isinstance(delay_ms, int) and isinstance(not_before_ms, int):
            return BackoffState(delay_ms, not_before_ms)
        return UNREADABLE

    def _claims(self) -> tuple[Claim, ...] | Unreadable:
        flat = self.fields.get("claims") or []
        try:
            rows = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
            claims = tuple(Claim(str(token), str(owner), int(ends)) for token, owner, ends in rows)
        except (TypeError, ValueError):
            return UNREADABLE
        # A lease of nobody that is known may be anybody's.
        return claims if all(claim.lease_owner for claim in claims) else UNREADABLE


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision as an occurrence keeps it, with the evidence that it was made from. ``number`` counts from 1."""

    number: int
    decision: str
    evidence: Evidence

    @property
    def case(self) -> Case:
        """The case that was decided."""
        return self.evidence.case(_reconciled(self.evidence.fields.get("reconciled")))

    def again(self) -> Verdict:
        """Decide again, from nothing but the record."""
        return decide(self.case)


def decisions_of(occurrence: Occurrence, fields: Mapping[str, str]) -> tuple[RecordedDecision, ...]:
    """All decisions in an occurrence's hash, the oldest first; one that cannot be read has no evidence."""
    made = min(int(fields["decisions"][:9]), MOST_DECISIONS) if fields.get("decisions", "").isdecimal() else 0
    return tuple(_decision(occurrence, number, fields.get(f"decision:{number}", "")) for number in range(1, made + 1))


def _decision(occurrence: Occurrence, number: int, text: str) -> RecordedDecision:
    nothing = Evidence(occurrence, "", {})
    try:
        kept = json.loads(text)
        evidence = replace(nothing, text=canonical_json(kept["evidence"]), fields=dict(kept["evidence"]))
        return RecordedDecision(number, str(kept["decision"]), evidence)
    except (ValueError, TypeError, KeyError, RecursionError):
        return RecordedDecision(number, "", nothing)


def _reconciled(word: object) -> Reconciled:
    return Reconciled(word) if isinstance(word, str) and word in set(Reconciled) else Reconciled.BY_NOTHING


def _model(text: object) -> Mapping[str, Any]:
    try:
        model = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return model if isinstance(model, dict) else {}


def _word(fields: Mapping[str, Any], name: str) -> str | Unreadable:
    value = fields.get(name)
    return value if isinstance(value, str) and value else UNREADABLE


def _size(fields: Mapping[str, Any], name: str) -> int | Unreadable:
    value = fields.get(name)
    return value if type(value) is int and value >= 0 else UNREADABLE


__all__ = [
    "Decision",
    "Evidence",
    "Model",
    "Reconciled",
    "RecordedDecision",
    "decisions_of",
    "model_of",
    "unleased_case",
]
