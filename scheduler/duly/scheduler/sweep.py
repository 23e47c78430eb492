"""One step of the sweep: see what is due, decide, carry it out. The loop around it is in `service`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError, StoreRefused, StoreUnavailable
from duly.common.store import Store
from duly.common.store.dispatch import Action, DispatchOrder, DispatchReply, encode_orders
from duly.common.store.survey import DueSchedule, Survey, SurveyAsked
from duly.scheduler.hooks import Hooks
from duly.scheduler.orders import Planner, failing
from duly.scheduler.pace import FEWEST_TICKS, Pace

log = logging.getLogger(__name__)

PAGE = 500
"""Schedules and occurrences that one step looks at; the rest are next, oldest first."""
MOST_PAGES_ON = 4
"""Pages that are asked for beyond one another: what comes to the front meanwhile is seen by the look after them."""
MOST_PAUSES = 20
"""Pauses that one step ends; the others are still due, and the next step's."""
AHEAD = 100
"""Schedules that are prepared for instants to come."""
PREPARED_FOR_MS = 50
"""How long after its instant what was prepared for it still goes out: later, more may be due, and is planned anew."""
AHEAD_MS = 20
"""Instants that come so shortly after one another are prepared, and dispatched, without a look in between."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one step did. ``clock_ms``/``upcoming_ms``: the store's clock, and when there is work again."""

    clock_ms: float
    upcoming_ms: int | None
    ticks: int
    attended: int
    more: bool
    """A page was full or something changed underneath: look again at once."""


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
        self._planner = Planner(store, self._hooks)
        self._prepared: list[_Prepared] = []
        self._next_page: SurveyAsked | None = None
        self._pages_on = 0

    def sweep_once(self, token: str) -> Sweep | None:
        """One step under the duty ``token``; None when the duty is lost, in which case nothing more was written.

        Raises StoreUnavailable; the step can be repeated, and repeats nothing that was done.
        """
        asked, self._next_page = self._next_page, None
        self._pages_on = self._pages_on + 1 if asked else 0
        survey = asked.survey() if asked else self._ask_for_page(token).survey()
        if survey is not None and survey.more_schedules and self._pages_on < MOST_PAGES_ON:
            # The store looks at the next page while this one is planned, and it is read while that works on this one.
            self._next_page = self._ask_for_page(token, beyond=survey)
        sweep: Sweep | None = None
        try:
            sweep = self._settle(token, survey) if survey else None
        finally:
            if sweep is None and self._next_page is not None:
                self._next_page.drop()
                self._next_page = None
        # It left out so many, whether or not they were still there: only a look at all that is due shows the end.
        return replace(sweep, more=True) if sweep and asked else sweep

    def _ask_for_page(self, token: str, beyond: Survey | None = None) -> SurveyAsked:
        return self._store.sweeping.surveying(token, self._store.settings.duty_ttl_ms, PAGE, beyond)

    def _settle(self, token: str, survey: Survey) -> Sweep | None:
        for due in survey.schedules:
            if due.state == "unreadable":
                log.error("schedule %s cannot be read", due.schedule_id, extra={"action": "unreadable"})
        ticks, more, instants = 0, False, [survey.upcoming_ms]
        for batch, replies in self._schedules_settled(token, survey):
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
        self._planner.forget()
        more |= any(due.state == "paused" for due in survey.schedules)  # ended, moved to wait its turn, or left
        more |= survey.more_schedules or survey.more_occurrences or "changed" in words
        return Sweep(survey.clock_ms, _earliest(instants), ticks, len(words), more)

    def prepare(self, instant_ms: int) -> None:
        """Plan what will be due at an instant that has not come, and shortly after it, so that it need only be sent.

        Nothing is claimed by that: the dispatch compares, under the duty, as any other does. What needs more than one
        look is left to the sweep that follows, and so is everything where hooks are to be asked.
        """
        if self._hooks.any or (self._prepared and self._prepared[0].instant_ms == instant_ms):
            return
        self._prepared = []
        comes = self._store.sweeping.ahead(instant_ms + AHEAD_MS, AHEAD)
        for at_ms, group in groupby(comes, key=lambda each: max(each[0], instant_ms)):
            orders = self._planner.orders([due for _, due in group], at_ms)
            batch = next(self._batches(filter(_is_plain, orders), self._pace.ticks), None)
            if batch is not None:
                self._prepared.append(_Prepared(at_ms, batch, encode_orders(batch, at_ms)))

    def dispatch_prepared(self, token: str, instant_ms: int) -> bool:
        """Dispatch what was prepared for the instant, which has come by the caller's own clock; the store's decides.

        False when the duty is lost. Raises StoreUnavailable; `sweep_once` repeats nothing that was done.
        """
        if not self._prepared or self._prepared[0].instant_ms != instant_ms:
            self._prepared = []
            return True
        prepared, *self._prepared = self._prepared
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
            self._prepared.insert(0, prepared)  # not yet; or never, and then the sweep that follows plans anew
        self._report(prepared.orders, replies)
        return True

    @property
    def prepared_ms(self) -> int | None:
        """The next instant that is prepared for, in epoch milliseconds; None when none is."""
        return self._prepared[0].instant_ms if self._prepared else None

    def _schedules_settled(
        self, token: str, survey: Survey
    ) -> Iterator[tuple[list[DispatchOrder], list[DispatchReply] | None]]:
        """What is due goes first: a pause takes several calls to end, and many may end at one instant."""
        yield from self._carried_out(token, self._planner.orders(survey.schedules, survey.now_ms), survey.now_ms)
        over = [due for due in survey.schedules if due.state == "paused"][:MOST_PAUSES]
        yield from self._carried_out(token, list(self._end_pauses(over, survey.now_ms)), survey.now_ms)

    def _carried_out(
        self, token: str, orders: Iterable[DispatchOrder], now_ms: int
    ) -> Iterator[tuple[list[DispatchOrder], list[DispatchReply] | None]]:
        """Each batch with its replies. While the store is at work on one, the last is told and the next planned.

        It gets small ones first, so as not to wait for a large one to be planned.
        """
        planned = self._batches(orders, min(FEWEST_TICKS, self._pace.ticks))
        batches = ((batch, encode_orders(batch, now_ms)) for batch in planned)
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

    def _batches(self, orders: Iterable[DispatchOrder], first_ticks: int) -> Iterator[list[DispatchOrder]]:
        batch: list[DispatchOrder] = []
        weight, most = 0, first_ticks
        for order in orders:
            batch.append(order)
            weight += _weight(order)
            if weight >= most:
                yield batch
                batch, weight, most = [], 0, min(2 * most, self._pace.ticks)
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

    def _end_pauses(self, paused: Iterable[DueSchedule], now_ms: int) -> Iterator[DispatchOrder]:
        """End the pauses that are over; an order for each schedule that cannot be, so that it waits its turn."""
        for due in paused:
            until_ms = due.paused_until_ms
            if until_ms is None or until_ms > now_ms:
                continue
            try:
                self._as_sweep.schedules.resume(due.schedule_id, revision=int(due.revision), ended_ms=until_ms)
            except StoreUnavailable:
                raise
            except DulyError as error:
                log.error("pause of %s not ended: %s", due.schedule_id, error.code, extra={"action": "resume"})
                yield failing(due, now_ms)

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
