"""What the sweep wants for schedules that are due, as orders to the store: by their definitions, and by the clock."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace

from duly.common.errors import DulyError
from duly.common.records.definition import ScheduleDefinition
from duly.common.store import Store, carry
from duly.common.store.dispatch import Action, DispatchOrder, TickOrder
from duly.common.store.survey import DueSchedule
from duly.scheduler.hooks import Hooks
from duly.scheduler.known import Definitions, Known, known
from duly.scheduler.missed_run import Plan, last_release_ms, plan, plan_carried

log = logging.getLogger(__name__)

TICKS_PER_SCHEDULE = 50
"""Ticks of one schedule in one step: a long backfill leaves room for others, in a step and in its audit trail."""


class Planner:
    """Remembers the definitions that it has read. Not thread-safe."""

    def __init__(self, store: Store, hooks: Hooks) -> None:
        self._store = store
        self._hooks = hooks
        self._definitions = Definitions(whole=hooks.any)

    def orders(self, schedules: Iterable[DueSchedule], now_ms: int) -> Iterator[DispatchOrder]:
        """An order for each active schedule, planned when it is asked for. Hooks are asked then, too."""
        active = [due for due in schedules if due.state == "active"]
        self._load_definitions(active)
        for due in active:
            present = self._definitions.get(due)
            if present is None:
                yield failing(due, now_ms)
            elif due.carry:
                try:
                    yield self._carried_order(due, present, now_ms)
                except DulyError:
                    yield failing(due, now_ms)
            elif due.next_run_ms is None:
                yield DispatchOrder(due, present.rules.queue, due.definition_revision, [], None, None, None)
            else:
                missed = present.rules.missed_runs
                plan_ = plan(missed, present.timetable, due.next_run_ms, now_ms, TICKS_PER_SCHEDULE)
                yield self._order(due, present, plan_, now_ms, due.last_run_ms)

    def forget(self) -> None:
        """Keep what is remembered within bounds. Only between sweeps: a sweep needs all that it has learnt."""
        self._definitions.forget()

    def _order(self, due: DueSchedule, of: Known, plan_: Plan, now_ms: int, last_run_ms: int | None) -> DispatchOrder:
        ticks = [
            of.rules.admission.admitted(
                order, of.schedule_id, of.digest, now_ms=now_ms, last_run_ms=last_run_ms, next_run_ms=plan_.next_ms
            )
            for order in plan_.ticks
        ]
        if of.definition is not None:
            ticks = [self._hooks.before(of.definition, order) for order in ticks]
        return DispatchOrder(
            due,
            of.rules.queue,
            of.revision,
            ticks,
            plan_.dropped,
            plan_.next_ms,
            plan_.due_ms,
            backlog_until_ms=plan_.until_ms,
            definition=of.definition,
        )

    def _carried_order(self, due: DueSchedule, present: Known, now_ms: int) -> DispatchOrder:
        """The oldest carried definition's ticks; the schedule itself stays where it stands."""
        first, *rest = carry.load(due.carry)
        of = known(due, str(first.definition_revision), first.definition)
        released_ms = last_release_ms(of.timetable, first.next_run_ms, first.until_ms)
        if released_ms is not None and released_ms > now_ms:
            return DispatchOrder(
                due, present.rules.queue, present.revision, [], None, due.next_run_ms, released_ms, due.carry
            )
        missed = of.rules.missed_runs
        plan_ = plan_carried(missed, of.timetable, first.next_run_ms, first.until_ms, now_ms, TICKS_PER_SCHEDULE)
        if plan_.until_ms is not None and plan_.next_ms is not None:
            rest.insert(0, replace(first, next_run_ms=plan_.next_ms))
        next_due_ms = None if due.next_run_ms is None else present.timetable.release_ms(due.next_run_ms)
        return replace(
            self._order(due, of, plan_, now_ms, None),
            new_next_ms=due.next_run_ms,
            new_due_ms=now_ms if rest else next_due_ms,
            new_carry=carry.dump(rest),
            asked_for=first.asked_for,
        )

    def _load_definitions(self, schedules: Iterable[DueSchedule]) -> None:
        unknown = [due for due in schedules if self._definitions.get(due) is None]
        texts = self._store.schedules.definitions([due.schedule_id for due in unknown])
        for due, found in zip(unknown, texts, strict=True):
            if found is None or found[0] != due.definition_revision:
                continue  # edited or deleted since the survey; the dispatch will find it changed
            try:
                definition = ScheduleDefinition.from_json(found[1])
            except DulyError as error:
                log.error(
                    "schedule %s cannot be used: %s",
                    due.schedule_id,
                    error,
                    extra={"action": "invalid_schedule"},
                )
                continue
            self._definitions.learn(due, definition)


def failing(due: DueSchedule, now_ms: int) -> DispatchOrder:
    """For a schedule that cannot be used: it stays due, and waits its turn."""
    tick = TickOrder(due.next_run_ms or now_ms, Action.FAIL, "invalid_schedule")
    return DispatchOrder(due, "", due.definition_revision, [tick], None, None, None)
