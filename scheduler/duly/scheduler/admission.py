"""Whether a due tick may be enqueued: the contract's gates, as far as they can be asked without a lease. Pure."""

from __future__ import annotations

from dataclasses import replace

from duly.common.contract import holds_before_lease, standing_holds
from duly.common.identity import Occurrence, idempotency_key
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import unleased_case
from duly.common.store.sweeping import Action, TickOrder


class Admission:
    """The gates before one definition's ticks. What is the same for all of them is asked once."""

    def __init__(self, definition: ScheduleDefinition) -> None:
        self._schedule_id, self._digest = definition.schedule_id, definition.digest
        self._case = unleased_case(definition, 0, now_ms=0, jitter_ms=0, last_run_ms=None, next_run_ms=None)
        self._standing = standing_holds(self._case)

    def admitted(self, order: TickOrder, *, now_ms: int, last_run_ms: int | None, next_run_ms: int | None) -> TickOrder:
        """The order itself, or one that holds the tick with the contract's code.

        ``last_run_ms``: the latest tick whose run has finished; ``next_run_ms``: where the schedule will stand.
        """
        if order.action is not Action.ENQUEUE:
            return order
        case = replace(
            self._case,
            occurrence_ms=order.tick_ms,
            idempotency_key=idempotency_key(Occurrence(self._schedule_id, order.tick_ms), self._digest),
            now_ms=now_ms,
            applied_jitter_ms=order.jitter_ms,
            last_run_ms=last_run_ms,
            next_run_ms=order.tick_ms if next_run_ms is None else next_run_ms,
        )
        holds = holds_before_lease(case, self._standing)
        return replace(order, action=Action.HOLD, reason=holds[0].value) if holds else order
