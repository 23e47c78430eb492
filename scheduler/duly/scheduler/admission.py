"""Whether a due tick may be enqueued: the contract's gates, as far as they can be asked without a lease. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duly.common.contract import Case, Decision, holds_before_lease, standing_holds
from duly.common.identity import Occurrence, idempotency_key
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import unleased_case
from duly.common.store.dispatch import Action, TickOrder


@dataclass(frozen=True, slots=True)
class Admission:
    """The gates before a definition's ticks, and what is the same for all of them: the case but for the tick, and
    the holds that each of them meets. It is the same for every schedule whose definition says the same."""

    case: Case
    standing: tuple[Decision, ...]

    @classmethod
    def of(cls, definition: ScheduleDefinition) -> Admission:
        """The gates before this definition's ticks."""
        case = unleased_case(definition, 0, now_ms=0, jitter_ms=0, last_run_ms=None, next_run_ms=None)
        return cls(replace(case, job_id="", idempotency_key=""), standing_holds(case))

    def admitted(
        self,
        order: TickOrder,
        schedule_id: str,
        digest: str,
        *,
        now_ms: int,
        last_run_ms: int | None,
        next_run_ms: int | None,
    ) -> TickOrder:
        """The order itself, or one that holds the tick with the contract's code.

        ``digest``: of the work; ``last_run_ms``: the latest tick whose run has finished; ``next_run_ms``: where the
        schedule will stand.
        """
        if order.action is not Action.ENQUEUE:
            return order
        case = replace(
            self.case,
            job_id=schedule_id,
            occurrence_ms=order.tick_ms,
            idempotency_key=idempotency_key(Occurrence(schedule_id, order.tick_ms), digest),
            now_ms=now_ms,
            applied_jitter_ms=order.jitter_ms,
            last_run_ms=last_run_ms,
            next_run_ms=order.tick_ms if next_run_ms is None else next_run_ms,
        )
        holds = holds_before_lease(case, self.standing)
        return replace(order, action=Action.HOLD, reason=holds[0].value) if holds else order
