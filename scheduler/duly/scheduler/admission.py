"""Whether a due tick may be enqueued: the contract's gates, as far as they can be asked without a lease. Pure."""

from __future__ import annotations

from dataclasses import replace

from duly.common.contract import holds_before_lease
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import unleased_case
from duly.common.store.sweeping import Action, TickOrder


def admitted(
    definition: ScheduleDefinition, order: TickOrder, *, now_ms: int, last_run_ms: int | None, next_run_ms: int | None
) -> TickOrder:
    """The order itself, or one that holds the tick with the contract's code.

    ``last_run_ms``: the latest tick whose run has finished; ``next_run_ms``: where the schedule will stand.
    """
    if order.action is not Action.ENQUEUE:
        return order
    case = unleased_case(
        definition,
        order.tick_ms,
        now_ms=now_ms,
        jitter_ms=order.jitter_ms,
        last_run_ms=last_run_ms,
        next_run_ms=next_run_ms,
    )
    holds = holds_before_lease(case)
    return replace(order, action=Action.HOLD, reason=holds[0].value) if holds else order
