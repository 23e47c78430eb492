"""What is due at an instant is planned before it, and sent when it comes: never early, and planned anew when late."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from duly.common.store import Store
from duly.common.store.fleet import BEAT_MS
from duly.scheduler.hooks import EnqueueContext, Hooks
from duly.scheduler.service import Candidate
from duly.scheduler.sweep import AHEAD_MS, PREPARED_FOR_MS, Sweeper
from tests.conftest import Backend
from tests.store.conftest import Bench, definition

PERIOD_MS = 1_000


class MovedClock:
    """The local clock, beside the store's, which moves with it."""

    def __init__(self, fake: Backend) -> None:
        self._fake = fake
        self._now_ms = 0.0

    def monotonic_ms(self) -> float:
        return self._now_ms

    def pass_time(self, ms: float, *, store_ms: float | None = None) -> None:
        self._now_ms += ms
        self._fake.advance(ms if store_ms is None else store_ms)


class Holder:
    """A candidate that holds the duty, and the scripts that it calls."""

    def __init__(self, fake: Backend, monkeypatch: pytest.MonkeyPatch, hooks: Hooks | None = None) -> None:
        self.store: Store = fake.store(duty_ttl_ms=60_000)
        self.clock = MovedClock(fake)
        self.candidate = Candidate(self.store, Sweeper(self.store, hooks), "a.s", self.clock)
        self.candidate.step()
        self.candidate.step()
        self.called: list[str] = []
        scripts = self.store.sweeping._scripts
        call = scripts.call

        def noted(name: str, /, *args: Any, **fields: Any) -> Any:
            self.called.append(name)
            return call(name, *args, **fields)

        monkeypatch.setattr(scripts, "call", noted)

    def step(self) -> float:
        self.called.clear()
        return self.candidate.step()

    def outcomes(self, schedule_id: str = "docs") -> list[tuple[str, str]]:
        return [(each.outcome, each.reason) for each in self.store.trails.events(schedule_id, 100)[0]]

    def queue_length(self) -> int:
        return int(self.store.client.llen("rq:queue:default"))


@pytest.fixture
def holder(fake: Backend, monkeypatch: pytest.MonkeyPatch) -> Holder:
    return Holder(fake, monkeypatch)


def add(holder: Holder, schedule_id: str = "docs", **fields: Any) -> None:
    holder.store.schedules.add(definition(schedule_id=schedule_id, spec=f"@every:{PERIOD_MS}", **fields))


def test_the_first_thing_said_at_an_instant_is_what_was_prepared_for_it(holder: Holder) -> None:
    for schedule_id in ("a", "b"):
        add(holder, schedule_id)
    wait_ms = holder.step()
    assert holder.called == ["survey", "ahead"]
    holder.clock.pass_time(wait_ms)
    assert holder.step() == PERIOD_MS
    assert holder.called == ["dispatch", "survey", "ahead"]
    assert holder.outcomes("a") == holder.outcomes("b") == [("enqueued", "accepted")]
    assert holder.queue_length() == 2


def test_each_instant_is_prepared_once_however_often_the_holder_is_woken_before_it(holder: Holder) -> None:
    add(holder)
    holder.step()
    for _ in range(3):
        holder.clock.pass_time(10)
        holder.step()
        assert holder.called == ["survey"]


def test_nothing_goes_out_before_the_store_s_clock_says_so_and_then_at_once(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms, store_ms=wait_ms - 3)
    assert holder.step() == pytest.approx(3, abs=0.01)
    assert holder.called == ["dispatch", "survey"]
    assert holder.outcomes() == []
    holder.clock.pass_time(3)
    holder.step()
    assert holder.called[:2] == ["dispatch", "survey"]
    assert holder.outcomes() == [("enqueued", "accepted")]


def test_a_schedule_that_was_edited_meanwhile_is_planned_anew(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms - 20)
    holder.store.schedules.update("docs", {"queue": "other"})
    holder.clock.pass_time(20)
    holder.step()
    assert holder.called == ["dispatch", "survey", "dispatch", "ahead"]
    assert holder.queue_length() == 0
    assert holder.store.client.llen("rq:queue:other") == 1


def test_a_schedule_that_was_paused_meanwhile_stays_paused(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms - 20)
    holder.store.schedules.pause("docs", "why")
    holder.clock.pass_time(20)
    holder.step()
    assert holder.queue_length() == 0
    assert holder.outcomes() == []


def test_what_comes_much_later_than_its_instant_is_planned_anew_with_all_that_is_due_by_then(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms + 2 * PERIOD_MS)
    holder.step()
    assert holder.called[:2] == ["survey", "dispatch"]
    assert holder.outcomes() == [("enqueued", "accepted"), ("skipped", "backlog_dropped")]


def test_the_store_s_clock_says_that_it_is_much_later_whatever_the_holder_s_own_clock_says(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms, store_ms=wait_ms + 2 * PERIOD_MS)
    holder.step()
    assert holder.called[:3] == ["dispatch", "survey", "dispatch"]
    assert holder.outcomes() == [("enqueued", "accepted"), ("skipped", "backlog_dropped")]


def test_a_little_late_is_not_much_later(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.clock.pass_time(wait_ms + PREPARED_FOR_MS)
    holder.step()
    assert holder.called[:2] == ["dispatch", "survey"]


def add_two_that_come_shortly_after_one_another(holder: Holder) -> int:
    """How many milliseconds after one another they may be released."""
    window_ms = 2 * AHEAD_MS
    released = {
        name: definition(schedule_id=name, spec=f"@every:{PERIOD_MS}", jitter_window_ms=window_ms).timetable.release_ms
        for name in ("docs-1", "docs-2", "docs-3", "docs-4", "docs-5")
    }
    tick_ms = PERIOD_MS * (holder.store.schedules.now_ms() // PERIOD_MS + 1)
    by_instant = sorted(released, key=lambda name: released[name](tick_ms))
    for first, second in pairwise(by_instant):
        apart_ms = released[second](tick_ms) - released[first](tick_ms)
        if 1 < apart_ms <= AHEAD_MS:
            add(holder, first, jitter_window_ms=window_ms)
            add(holder, second, jitter_window_ms=window_ms)
            return apart_ms
    raise AssertionError("no two of them are so close")


def test_instants_shortly_after_one_another_are_met_without_a_look_between_them(holder: Holder) -> None:
    apart_ms = add_two_that_come_shortly_after_one_another(holder)
    wait_ms = holder.step()
    assert holder.called == ["survey", "ahead"]
    holder.clock.pass_time(wait_ms)
    assert holder.step() == pytest.approx(apart_ms)
    assert holder.called == ["dispatch"]
    assert holder.queue_length() == 1
    holder.clock.pass_time(apart_ms)
    holder.step()
    assert holder.called == ["dispatch", "survey", "ahead"]
    assert holder.queue_length() == 2


def test_a_holder_that_is_woken_between_two_instants_looks_and_meets_the_second_all_the_same(holder: Holder) -> None:
    apart_ms = add_two_that_come_shortly_after_one_another(holder)
    holder.clock.pass_time(holder.step())
    holder.step()
    holder.clock.pass_time(apart_ms - 1)
    assert holder.step() == pytest.approx(1)
    assert holder.called == ["survey"]
    holder.clock.pass_time(1)
    holder.step()
    assert holder.called == ["dispatch", "survey", "ahead"]
    assert holder.queue_length() == 2


def test_hooks_are_asked_at_the_instant_and_not_before_it(fake: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[EnqueueContext] = []
    holder = Holder(fake, monkeypatch, Hooks([seen.append]))
    add(holder)
    wait_ms = holder.step()
    assert seen == []
    holder.clock.pass_time(wait_ms)
    holder.step()
    assert [context.phase for context in seen] == ["before", "after"]


def test_a_holder_that_was_replaced_meanwhile_sends_what_it_prepared_to_no_effect(holder: Holder) -> None:
    add(holder)
    wait_ms = holder.step()
    holder.store.client.set(holder.store.keys.duty, "somebody-else", px=60_000)
    holder.clock.pass_time(wait_ms)
    holder.step()
    assert holder.called == ["dispatch", "beat"]
    assert not holder.candidate.holding
    assert holder.outcomes() == []


def test_a_beat_that_is_due_at_an_instant_waits_for_what_is_due(holder: Holder) -> None:
    add(holder)
    said: list[list[str]] = []
    for _ in range(2 + int(BEAT_MS / PERIOD_MS)):
        holder.clock.pass_time(holder.step())
        said.append(list(holder.called))
    both = [step for step in said if {"beat", "dispatch"} <= set(step)]
    assert both
    assert all(step.index("dispatch") < step.index("beat") for step in both)


def test_what_the_contract_does_not_let_run_is_left_to_the_sweep(bench: Bench) -> None:
    record = bench.add(spec=f"@every:{PERIOD_MS}")
    tick_ms = record.next_run_ms or 0
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "finished", str(tick_ms + 5 * PERIOD_MS))
    bench.sweeper.prepare(tick_ms)
    bench.until(tick_ms)
    assert bench.sweeper.dispatch_prepared(bench.token, tick_ms)
    assert bench.events() == []
    bench.sweep()
    assert bench.events()[0][1:] == ("skipped", "quarantined")
    bench.doctored = True


def test_orders_that_the_store_refuses_are_left_to_the_sweep(bench: Bench) -> None:
    for schedule_id in ("a", "broken"):
        record = bench.add(schedule_id=schedule_id, spec=f"@every:{PERIOD_MS}")
    tick_ms = record.next_run_ms or 0
    bench.sweeper.prepare(tick_ms)
    bench.backend.client.set(bench.store.keys.events("broken"), "no stream")
    bench.until(tick_ms)
    assert bench.sweeper.dispatch_prepared(bench.token, tick_ms)
    bench.sweep()
    assert bench.events("a")[0][1:] == ("enqueued", "accepted")
    bench.doctored = True
