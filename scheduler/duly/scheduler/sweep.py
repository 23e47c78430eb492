"""One step of the sweep: see what is due, decide, carry it out. The loop around it is in `service`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError, StoreRefused, StoreUnavailable
from duly.common.records.definition import ScheduleDefinition
from duly.common.store import Store, carry
from duly.common.store.sweeping import Action, DispatchOrder, DispatchReply, DueSchedule, Survey, TickOrder
from duly.scheduler.hooks import Hooks
from duly.scheduler.known import Definitions, Known, known
from duly.scheduler.missed_run import Plan, last_release_ms, plan, plan_carried
from duly.scheduler.pace import Pace

log = logging.getLogger(__name__)

PAGE = 500
"""Schedules and occurrences that one step looks at; the rest are next, oldest first."""
AHEAD = 100
"""Schedules that are prepared for an instant to come."""
PREPARED_FOR_MS = 50
"""How long after its instant what was prepared for it still goes out: later, more may be due, and is planned anew."""
TICKS_PER_SCHEDULE = 50
"""Ticks of one schedule in one step: a long backfill leaves room for others, in a step and in its audit trail."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one step did. ``clock_ms``/``upcoming_ms``: the store's clock, and when there is work again."""

    clock_ms: float
    upcoming_ms: int | None
    ticks: int
    attended: int
    more: bool
    """The page was full or something changed underneath: look again at once."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    instant_ms: int
    orders: list[DispatchOrder]
    encoded: str


class Sweeper:
    """Carries out sweeps under one duty token. Not thread-safe."""

    def __init__(self, store: Store, hooks: Hooks | None = None, clock: Clock | None = None) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._pace = Pace()
        self._queue_limit = store.settings.queue_limit
        self._as_sweep = store.acting_as("sweep")
        self._hooks = hooks or Hooks([])
        self._definitions = Definitions(whole=self._hooks.any)
        self._prepared: _Prepared | None = None

    def sweep_once(self, token: str) -> Sweep | None:
        """One step under the duty ``token``; None when the duty is lost, in which case nothing more was written.

        Raises StoreUnavailable; the step can be repeated, and repeats nothing that was done.
        """
        survey = self._store.sweeping.survey(token, self._store.settings.duty_ttl_ms, PAGE)
        if survey is None:
            return None
        orders = chain(list(self._end_pauses(survey)), self._orders(survey.schedules, survey.now_ms))
        ticks, more, instants = 0, False, [survey.upcoming_ms]
        for batch, replies in self._carried_out(token, orders, survey.now_ms):
            if replies is None:
                return None
            instants += [order.new_due_ms for order in batch]
            ticks += sum(len(reply.outcomes) for reply in replies)
            more |= any(_more(order, reply, survey.now_ms) for order, reply in zip(batch, replies, strict=True))
            self._report(batch, replies)
        words = self._store.sweeping.attend(token, survey.occurrences, survey.now_ms)
        if words is None:
            return None
        for watched, word in zip(survey.occurrences, words, strict=True):
            if word == "held":
                log.warning("%s: HELD for its reviewer (duly holds)", watched.occurrence, extra={"action": "held"})
        self._definitions.forget()
        more |= any(due.state == "paused" for due in survey.schedules)  # each was ended, or moved to wait its turn
        more |= len(survey.schedules) >= PAGE or len(survey.occurrences) >= PAGE or "changed" in words
        return Sweep(survey.clock_ms, _earliest(instants), ticks, len(words), more)

    def prepare(self, instant_ms: int) -> None:
        """Plan what will be due at an instant that has not come, so that it need only be sent when it comes.

        Nothing is claimed by that: the dispatch compares, under the duty, as any other does. What needs more than one
        look is left to the sweep that follows, and so is everything where hooks are to be asked.
        """
        if self._hooks.any or (self._prepared is not None and self._prepared.instant_ms == instant_ms):
            return
        orders = self._orders(self._store.sweeping.ahead(instant_ms, AHEAD), instant_ms)
        batch = next(self._batches(filter(_is_plain, orders)), None)
        self._prepared = None
        if batch is not None:
            self._prepared = _Prepared(instant_ms, batch, self._store.sweeping.encoded(batch, instant_ms))

    def dispatch_prepared(self, token: str, instant_ms: int) -> bool:
        """Dispatch what was prepared for the instant, which has come by the caller's own clock; the store's decides.

        False when the duty is lost. Raises StoreUnavailable; `sweep_once` repeats nothing that was done.
        """
        prepared = self._prepared
        if prepared is None or prepared.instant_ms != instant_ms:
            return True
        self._prepared = None
        try:
            replies = self._store.sweeping.dispatch(
                token,
                prepared.orders,
                instant_ms,
                self._queue_limit,
                until_ms=instant_ms + PREPARED_FOR_MS,
                encoded=prepared.encoded,
            )
        except StoreRefused:
            return True  # the sweep that follows finds out which of them it is
        if replies is None:
            return False
        if any(reply.word == "untimely" for reply in replies):
            self._prepared = prepared  # not yet; or never, and then the sweep that follows plans anew
        self._report(prepared.orders, replies)
        return True

    def _carried_out(
        self, token: str, orders: Iterable[DispatchOrder], now_ms: int
    ) -> Iterator[tuple[list[DispatchOrder], list[DispatchReply] | None]]:
        """Each batch with its replies. While the store is at work on one, the last is told and the next planned."""
        batches = ((batch, self._store.sweeping.encoded(batch, now_ms)) for batch in self._batches(orders))
        following = next(batches, None)
        done: list[tuple[list[DispatchOrder], list[DispatchReply] | None]] = []
        while following is not None:
            (batch, encoded), following = following, None
            sent_ms = self._clock.monotonic_ms()
            try:
                with self._store.sweeping.dispatching(
                    token, batch, now_ms, self._queue_limit, encoded=encoded
                ) as replies:
                    while done:
                        yield done.pop()
                    following = next(batches, None)
                    done.append((batch, replies()))
                    self._pace.learn(sum(map(_weight, batch)), self._clock.monotonic_ms() - sent_ms)
            except StoreRefused:
                done.append((batch, self._one_by_one(token, batch, now_ms)))
            except StoreUnavailable:
                yield from done  # what is known of the batch before is told all the same
                raise
            if done[-1][1] is None:
                break
        yield from done

    def _batches(self, orders: Iterable[DispatchOrder]) -> Iterator[list[DispatchOrder]]:
        batch: list[DispatchOrder] = []
        weight = 0
        for order in orders:
            batch.append(order)
            weight += _weight(order)
            if weight >= self._pace.ticks:
                yield batch
                batch, weight = [], 0
        if batch:
            yield batch

    def _one_by_one(self, token: str, orders: list[DispatchOrder], now_ms: int) -> list[DispatchReply] | None:
        """The store cannot handle one of the batch's schedules: the others still get their turn."""
        replies = []
        for order in orders:
            try:
                reply = self._store.sweeping.dispatch(token, [order], now_ms, self._queue_limit)
            except StoreRefused as error:
                log.error("schedule %s: %s", order.seen.schedule_id, error, extra={"action": "store_refused"})
                reply = [DispatchReply("refused", [])]
            if reply is None:
                return None
            replies += reply
        return replies

    def _orders(self, schedules: Iterable[DueSchedule], now_ms: int) -> Iterator[DispatchOrder]:
        active = [due for due in schedules if due.state == "active"]
        self._load_definitions(active)
        for due in active:
            present = self._definitions.get(due)
            if present is None:
                yield _invalid(due, now_ms)
            elif due.carry:
                try:
                    yield self._carried_order(due, present, now_ms)
                except DulyError:
                    yield _invalid(due, now_ms)
            elif due.next_run_ms is None:
                yield DispatchOrder(due, present.rules.queue, due.definition_revision, [], None, None, None)
            else:
                missed = present.rules.missed_runs
                plan_ = plan(missed, present.timetable, due.next_run_ms, now_ms, TICKS_PER_SCHEDULE)
                yield self._order(due, present, plan_, now_ms, due.last_run_ms)

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
        plan_ = plan_carried(of.rules.missed_runs, of.timetable, first.next_run_ms, first.until_ms, now_ms)
        next_due_ms = None if due.next_run_ms is None else present.timetable.release_ms(due.next_run_ms)
        return replace(
            self._order(due, of, plan_, now_ms, None),
            new_next_ms=due.next_run_ms,
            new_due_ms=now_ms if rest else next_due_ms,
            new_carry=carry.dump(rest),
            backlog_until_ms=first.until_ms if first.asked_for else None,
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

    def _end_pauses(self, survey: Survey) -> Iterator[DispatchOrder]:
        """End the pauses that are over; an order for each schedule that cannot be, so that it waits its turn."""
        for due in survey.schedules:
            until_ms = due.paused_until_ms
            if due.state != "paused" or until_ms is None or until_ms > survey.now_ms:
                continue
            try:
                self._as_sweep.schedules.resume(due.schedule_id, revision=int(due.revision), ended_ms=until_ms)
            except StoreUnavailable:
                raise
            except DulyError as error:
                log.error("pause of %s not ended: %s", due.schedule_id, error.code, extra={"action": "resume"})
                yield _invalid(due, survey.now_ms)

    def _report(self, orders: list[DispatchOrder], replies: list[DispatchReply]) -> None:
        for order, reply in zip(orders, replies, strict=True):
            if reply.word == "backwards":
                log.error(
                    "schedule %s would go back in time; held for its reviewer",
                    order.seen.schedule_id,
                    extra={"action": "backwards"},
                )
            for tick, (outcome, reason) in zip(order.ticks, reply.outcomes, strict=False):
                log.info(
                    "%s@%d %s %s",
                    order.seen.schedule_id,
                    tick.tick_ms,
                    outcome,
                    reason,
                    extra={"action": "tick"},
                )
                if order.definition is not None:
                    self._hooks.after(order.definition, tick.tick_ms, outcome, reason)


def _invalid(due: DueSchedule, now_ms: int) -> DispatchOrder:
    tick = TickOrder(due.next_run_ms or now_ms, Action.FAIL, "invalid_schedule")
    return DispatchOrder(due, "", due.definition_revision, [tick], None, None, None)


def _is_plain(order: DispatchOrder) -> bool:
    """Whether all there is to do for it is to dispatch ticks."""
    usual = all(tick.action in {Action.ENQUEUE, Action.SKIP} for tick in order.ticks)
    return bool(order.ticks) and usual and not order.seen.carry


def _weight(order: DispatchOrder) -> int:
    """What it costs the store, in ticks: a schedule without one is not free."""
    return len(order.ticks) or 1


def _more(order: DispatchOrder, reply: DispatchReply, now_ms: int) -> bool:
    """Somebody was faster; or a part of a backfill, or carried ticks of further edits, are left to do now."""
    left = order.new_due_ms is not None and order.new_due_ms <= now_ms
    return reply.word == "changed" or (reply.word == "advanced" and bool(order.ticks) and left)


def _earliest(instants: list[int | None]) -> int | None:
    return min((each for each in instants if each is not None), default=None)
