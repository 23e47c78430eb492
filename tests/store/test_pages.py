"""A backlog of many schedules: each page of it is asked for while the one before it is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duly.common.errors import StoreUnavailable
from duly.common.instant import to_rfc3339
from duly.common.store.scripts import Asked, Scripts
from duly.common.store.sweeping import SweepStore
from duly.scheduler import sweep
from tests.store.conftest import Bench

SCHEDULES = 7


@pytest.fixture
def backlog(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """So many schedules whose one tick is due, and pages of two."""
    monkeypatch.setattr(sweep, "PAGE", 2)
    tick_ms = bench.store.schedules.now_ms() // 1_000 * 1_000 + 2_000
    for number in range(SCHEDULES):
        bench.add(
            schedule_id=f"s{number}", spec="@every:1000", start_at=to_rfc3339(tick_ms), end_at=to_rfc3339(tick_ms + 1)
        )
    assert bench.store.schedules.get("s0").next_run_ms == tick_ms
    bench.until(tick_ms + 1)
    bench.take_duty()
    return bench


def dispatched(bench: Bench) -> int:
    """Schedules whose tick was enqueued, each of which has one event only."""
    events = [bench.events(f"s{number}") for number in range(SCHEDULES)]
    assert all(len(each) <= 1 for each in events)
    return sum(len(each) for each in events)


def until_done(bench: Bench) -> int:
    """How many steps there were until the sweep said that there is no more to do."""
    for step in range(1, 20):
        done = bench.sweeper.sweep_once(bench.token)
        assert done is not None
        if not done.more:
            return step
    raise AssertionError("it says that there is more, without end")


def surveys(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is done, in order: surveys by how many schedules they leave out, and dispatches by how many they are of."""
    said: list[tuple[str, int]] = []
    ask, dispatching = Scripts.ask, SweepStore.dispatching

    def asked(self: Scripts, name: str, *args: Any, **fields: Any) -> Asked:
        said.append((name, fields["skip_schedules"]))
        return ask(self, name, *args, **fields)

    def noted(self: SweepStore, token: str, orders: Any, *args: Any, **more: Any) -> Any:
        said.append(("dispatch", len(orders)))
        return dispatching(self, token, orders, *args, **more)

    monkeypatch.setattr(Scripts, "ask", asked)
    monkeypatch.setattr(SweepStore, "dispatching", noted)
    return said


def test_the_next_page_is_asked_for_before_a_full_one_is_settled(
    backlog: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = surveys(monkeypatch)
    backlog.sweeper.sweep_once(backlog.token)
    backlog.sweeper.sweep_once(backlog.token)
    assert said == [("survey", 0), ("survey", 2), ("dispatch", 2), ("survey", 2), ("dispatch", 2)]


def test_every_schedule_of_a_long_backlog_is_dispatched_once_and_the_end_is_seen_by_a_look_at_all(
    backlog: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = surveys(monkeypatch)
    until_done(backlog)
    assert dispatched(backlog) == SCHEDULES
    assert [each for each in said if each[0] == "survey"][-1] == ("survey", 0)


def test_what_a_page_left_out_because_it_was_asked_too_late_is_found_at_the_end(
    backlog: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may take what came over one connection before what came earlier over another."""
    call: Callable[..., Any] = Scripts.call

    def late(self: Scripts, name: str, *args: Any, **fields: Any) -> Asked:
        return Asked(lambda: call(self, name, *args, **fields), lambda: None)

    monkeypatch.setattr(Scripts, "ask", late)
    until_done(backlog)
    assert dispatched(backlog) == SCHEDULES


def test_a_page_that_was_asked_for_is_dropped_when_the_one_before_it_could_not_be_settled(
    backlog: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away")

    with monkeypatch.context() as during:
        during.setattr(SweepStore, "dispatching", away)
        with pytest.raises(StoreUnavailable):
            backlog.sweeper.sweep_once(backlog.token)
    said = surveys(monkeypatch)
    until_done(backlog)
    assert said[0] == ("survey", 0)
    assert dispatched(backlog) == SCHEDULES


def test_a_page_that_was_asked_for_is_dropped_with_the_duty(backlog: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    backlog.sweeper.sweep_once(backlog.token)
    backlog.store.sweeping.release_duty(backlog.token)
    first, said = dispatched(backlog), surveys(monkeypatch)
    while backlog.sweeper.sweep_once(backlog.token) is not None:
        pass
    assert dispatched(backlog) == first
    backlog.take_duty()
    until_done(backlog)
    assert ("survey", 0) in said
    assert dispatched(backlog) == SCHEDULES


def test_what_comes_to_the_front_of_a_backlog_that_does_not_end_is_seen_soon(
    fake_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "PAGE", 3)
    fake_bench.add(schedule_id="x", spec="@every:100000", overlap="allow")
    for number in range(12):
        fake_bench.add(schedule_id=f"s{number}", spec="@every:100")
    fake_bench.due("x")
    fake_bench.store.schedules.pause("x", "later")
    fake_bench.pass_time(250_000)
    for _ in range(sweep.MOST_PAGES_ON + 2):
        step(fake_bench)
    before = fake_bench.events("x")
    fake_bench.store.schedules.resume("x", "latest")
    for _ in range(sweep.MOST_PAGES_ON + 2):
        step(fake_bench)
    new = fake_bench.events("x")[: -len(before)]
    assert ("enqueued", "accepted") in [each[1:] for each in new]


def step(bench: Bench) -> None:
    """One step of a sweep, which had as many schedules due as before."""
    bench.take_duty()
    assert bench.sweeper.sweep_once(bench.token) is not None
    bench.pass_time(100)


def test_occurrences_behind_a_page_of_those_that_wait_their_turn_are_looked_at_at_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "PAGE", 2)
    occurrences = []
    for number in range(5):
        bench.add(schedule_id=f"s{number}", spec="@every:1000", overlap="allow")
        occurrences.append(bench.due(f"s{number}"))
    watch = {str(each): at for at, each in enumerate(occurrences)}
    bench.backend.client.zadd(bench.store.keys.watch, watch)
    for _ in range(10):
        done = bench.sweeper.sweep_once(bench.token)
        assert done is not None
        looked_at = bench.backend.client.zcount(bench.store.keys.watch, 0, 10) == 0
        assert done.more or looked_at
    assert looked_at
