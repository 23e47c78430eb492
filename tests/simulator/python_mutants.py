"""Guards of the worker, the scheduler and the store's Python side, each taken away once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from duly.common.contract import Decision
from duly.common.records.evidence import Reconciled
from duly.common.store import carry
from duly.common.store.attempts import AttemptStore, Carried, CarriedOut, Judgement
from duly.common.store.schedules import ScheduleStore
from duly.common.store.survey import DueSchedule
from duly.common.store.turns import TurnStore
from duly.scheduler import missed_run
from duly.scheduler.known import Definitions
from duly.scheduler.sweep import Sweeper
from duly.worker import gate, horse, performing
from duly.worker.lease_keeper import AttemptTimedOut, LeaseKeeper
from duly.worker.performing import Kind, Outcome
from duly.worker.probe import Probed
from duly.worker.rider import LeaseInHand, Rider
from duly.worker.rounds import Rounds
from tests.simulator.mutants import python
from tests.simulator.seen import EVIDENCE, ONE_OWNER, RECOMPUTED, UNKNOWN
from tests.simulator.ticks import NO_TICK_LOST, OWN_DEFINITION

FORGOTTEN = "nothing is forgotten"
_plain_begin: Callable[..., Any] = AttemptStore.begin
_plain_renew, _plain_settle, _plain_judge = LeaseKeeper._renew, missed_run._settle, gate.judge
_plain_outcome = performing.outcome_of
_plain_turn: Callable[..., Any] = TurnStore.turn
_numbers = itertools.count(1)
_plain_take: Callable[..., str] = Rider.take


def _runs_whatever_it_finds(*given: Any) -> Judgement:
    return replace(_plain_judge(*given), decision=Decision.INTERVAL_RUN_REVIEW_REQUIRED)


def _begin_whatever_is_said(self: AttemptStore, *given: Any) -> CarriedOut:
    _plain_begin(self, *given)
    return CarriedOut(Carried.BEGUN)


def _renewal_proves_from_the_reply(self: LeaseKeeper, asked_ms: float) -> bool:
    renewed = bool(_plain_renew(self, asked_ms))
    if renewed:
        self._proven_until_ms += self._clock.monotonic_ms() - asked_ms
        self._arm()
    return renewed


def _renews_nothing(self: LeaseKeeper, asked_ms: float) -> bool:
    self._proven_until_ms = asked_ms + 900
    self._arm()
    return True


def _last_backlog_tick_only(*args: Any) -> Any:
    plan = _plain_settle(*args)
    return replace(plan, ticks=plan.ticks[-1:])


def _any_version(self: Definitions, due: DueSchedule) -> Any:
    return self._known.get(due.schedule_id)


def _nothing_dropped(*args: Any) -> Any:
    return replace(_plain_settle(*args), dropped=None)


def _every_end_is_a_failure(error: BaseException, *_: Any) -> Outcome:
    return Outcome(Kind.FAILED, type(error).__name__)


def _timeouts_are_failures(error: BaseException, *rest: Any) -> Outcome:
    if isinstance(error, AttemptTimedOut):
        return Outcome(Kind.FAILED, "timeout")
    return _plain_outcome(error, *rest)


def _failures_are_successes(*_: Any) -> Outcome:
    return Outcome(Kind.SUCCEEDED, "")


def _asked_anew(self: TurnStore, *given: Any, **named: Any) -> Any:
    return _plain_turn(self, *given, **{**named, "number": next(_numbers)})


def _proven_from_the_reply(self: Rider, task: Any, occurrence: Any, grant: Any, _asked_ms: float) -> str:
    return _plain_take(self, task, occurrence, grant, self._clock.monotonic_ms())


ALL = [
    python("gate: runs whatever it finds", gate, "judge", _runs_whatever_it_finds, RECOMPUTED, UNKNOWN),
    python("gate: every effect may be repeated", gate, "_settled", lambda *_: Reconciled.BY_DECLARATION,
           UNKNOWN, RECOMPUTED),
    python("worker: the probe's doubt", horse, "ask_probe", lambda *_: Probed("NO_COMMITTED_RESULT", ""), UNKNOWN),
    python("worker: the probe is always content", horse, "ask_probe", lambda *_: Probed("COMMITTED", ""), UNKNOWN),
    python("worker: begins whatever is said", AttemptStore, "begin", _begin_whatever_is_said, ONE_OWNER),
    python("worker: an unknown outcome is a failure", performing, "outcome_of", _every_end_is_a_failure, UNKNOWN),
    python("worker: a time-out is a failure", performing, "outcome_of", _timeouts_are_failures, UNKNOWN),
    python("worker: a failure is a success", performing, "outcome_of", _failures_are_successes, UNKNOWN),
    python("keeper: the fence", LeaseKeeper, "_arm", lambda _self: None, ONE_OWNER),
    python("keeper: a renewal counts from its reply", LeaseKeeper, "_renew", _renewal_proves_from_the_reply, ONE_OWNER),
    python("keeper: nothing is renewed, and all is well", LeaseKeeper, "_renew", _renews_nothing, ONE_OWNER),
    python("rounds: a lost answer is no reason to ask again for it", TurnStore, "turn", _asked_anew,
           "before under the same token"),
    python("rounds: one owner for all attempts", Rounds, "_owner", lambda self: self.worker,
           ONE_OWNER, UNKNOWN),
    python("rider: a claim counts from its reply", Rider, "take", _proven_from_the_reply, ONE_OWNER),
    python("rider: every lease is renewed", LeaseInHand, "renew", lambda _self: "renewed", ONE_OWNER),
    python("rider: a success that nobody records", Rider, "_succeed", lambda *_: "recorded", EVIDENCE),
    python("sweep: only the last tick of a backlog", missed_run, "_settle", _last_backlog_tick_only, NO_TICK_LOST),
    python("sweep: what is dropped", missed_run, "_settle", _nothing_dropped, NO_TICK_LOST),
    python("sweep: the version of a definition", Definitions, "get", _any_version, NO_TICK_LOST, OWN_DEFINITION),
    python("sweep: carried ticks of all but the first edit", carry, "dump", lambda _carried: "", NO_TICK_LOST),
    python("edit: due ticks are not carried", ScheduleStore, "_carry", staticmethod(lambda *_: ""), NO_TICK_LOST),
    python("sweep: ends no pause", Sweeper, "_end_pauses", lambda *_: iter(()), FORGOTTEN),
]  # fmt: skip
