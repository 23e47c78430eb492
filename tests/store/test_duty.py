"""The duty: one holder at a time, proven in every write."""

from __future__ import annotations

import logging

import pytest
import redis

from duly.common.errors import StoreUnavailable
from duly.common.store.fleet import BEAT_MS
from duly.scheduler.service import Candidate
from duly.scheduler.sweep import Sweep, Sweeper
from tests.conftest import Backend
from tests.store.conftest import Bench, definition


def test_a_second_candidate_is_told_how_long_the_duty_is_taken(backend: Backend) -> None:
    sweeping = backend.store().sweeping
    assert sweeping.claim_duty("first", "a", 5_000)[0] is not None
    fence, wait_ms = sweeping.claim_duty("second", "b", 5_000)
    assert fence is None
    assert 0 < wait_ms <= 5_000


def test_asking_again_with_the_same_token_gives_the_same_fence(backend: Backend) -> None:
    sweeping = backend.store().sweeping
    first, _ = sweeping.claim_duty("first", "a", 5_000)
    assert sweeping.claim_duty("first", "a", 5_000)[0] == first


def test_an_expired_duty_passes_on_with_a_larger_fence(backend: Backend) -> None:
    sweeping = backend.store().sweeping
    first, _ = sweeping.claim_duty("first", "a", 50)
    backend.advance(60)
    second, _ = sweeping.claim_duty("second", "b", 5_000)
    assert first is not None
    assert second is not None
    assert second > first


def test_a_holder_that_was_replaced_changes_nothing(bench: Bench) -> None:
    record = bench.add()
    assert record.next_run_ms is not None
    bench.until(record.next_run_ms)
    bench.backend.client.set(bench.store.keys.duty, "somebody-else", px=60_000)
    before = {key: bench.backend.client.dump(key) for key in bench.backend.client.keys("*")}
    assert bench.sweeper.sweep_once(bench.token) is None
    assert {key: bench.backend.client.dump(key) for key in bench.backend.client.keys("*")} == before


def test_the_fence_is_checked_in_each_write_and_not_only_at_the_start_of_a_sweep(bench: Bench) -> None:
    """The duty passes on between the survey and the dispatch: the dispatch finds out by itself."""
    record = bench.add()
    assert record.next_run_ms is not None
    bench.until(record.next_run_ms)
    steal = bench.store.schedules.definitions

    def stolen(ids: list[str]) -> list[tuple[str, str] | None]:
        bench.backend.client.set(bench.store.keys.duty, "somebody-else", px=60_000)
        return steal(ids)

    bench.store.schedules.definitions = stolen  # type: ignore[method-assign]
    assert bench.sweeper.sweep_once(bench.token) is None
    assert bench.events() == []
    assert bench.queue() == []


def test_a_candidate_that_stops_hands_the_duty_over_at_once(fake: Backend) -> None:
    store = fake.store()
    first = Candidate(store, Sweeper(store), "a.s")
    second = Candidate(store, Sweeper(store), "b.s")
    first.step()
    second.step()
    assert first.holding
    assert not second.holding
    first.stop()
    second.step()
    assert second.holding
    assert store.fleet.snapshot()["duty"]["holder"] == "b.s"


@pytest.mark.parametrize(
    ("cause", "asks"),
    [
        (redis.exceptions.TimeoutError("late"), False),
        (redis.exceptions.ConnectionError("gone"), False),
        (redis.exceptions.OutOfMemoryError("full"), True),
    ],
    ids=["late", "gone", "full"],
)
def test_a_candidate_that_stops_waits_no_second_time_for_a_store_that_did_not_answer(
    fake: Backend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cause: Exception, asks: bool
) -> None:
    store = fake.store()
    candidate, other = Candidate(store, Sweeper(store), "a.s"), Candidate(store, Sweeper(store), "b.s")

    def away(*_: object) -> None:
        raise StoreUnavailable("Redis cannot serve") from cause

    candidate.step()
    with monkeypatch.context() as outage:
        outage.setattr(store.sweeping, "surveying", away)
        candidate.step()
    assert candidate.holding
    candidate.stop()
    assert not candidate.holding
    assert ("duty not handed over: Redis did not answer" in caplog.messages) is not asks
    other.step()
    assert other.holding is asks


def test_a_candidate_whose_store_answers_again_hands_the_duty_over(
    fake: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fake.store()
    candidate, other = Candidate(store, Sweeper(store), "a.s"), Candidate(store, Sweeper(store), "b.s")

    def away(*_: object) -> None:
        raise StoreUnavailable("Redis cannot be reached") from redis.exceptions.ConnectionError("gone")

    candidate.step()
    with monkeypatch.context() as outage:
        outage.setattr(store.sweeping, "surveying", away)
        candidate.step()
    candidate.step()
    candidate.stop()
    other.step()
    assert other.holding


def test_a_candidate_that_lost_the_duty_proves_it_again_before_it_sweeps(fake: Backend) -> None:
    store = fake.store()
    candidate = Candidate(store, Sweeper(store), "a.s")
    candidate.step()
    fake.client.delete(store.keys.duty)
    store.sweeping.claim_duty("other", "b.s", 1_000)
    candidate.step()
    assert not candidate.holding
    assert candidate.step() > 0


def test_a_candidate_waits_exactly_until_the_next_tick(fake: Backend) -> None:
    store = fake.store(duty_ttl_ms=60_000)
    candidate = Candidate(store, Sweeper(store), "a.s", StoppedClock())
    store.schedules.add(definition(spec="@every:1500"))
    fake.advance(700)
    candidate.step()
    assert candidate.step() == 800


def test_a_candidate_does_not_wait_out_the_rest_of_a_millisecond(fake: Backend) -> None:
    store = fake.store(duty_ttl_ms=60_000)
    candidate = Candidate(store, Sweeper(store), "a.s", StoppedClock())
    store.schedules.add(definition(spec="@every:1500"))
    fake.advance(700.4)
    candidate.step()
    assert candidate.step() == pytest.approx(799.6, abs=0.01)


def test_no_candidate_sleeps_longer_than_it_may_to_keep_the_duty(fake: Backend) -> None:
    store = fake.store(duty_ttl_ms=900)
    candidate = Candidate(store, Sweeper(store), "a.s", StoppedClock())
    candidate.step()
    assert candidate.step() == 300


def test_the_holder_tells_how_long_its_longest_sweep_took_since_it_last_said_so(fake: Backend) -> None:
    store, clock = fake.store(duty_ttl_ms=600_000), MovedClock()
    sweeper = Sweeper(store)
    sweep_once, takes_ms = sweeper.sweep_once, iter((5.0, 20.0, 2.0, 1.0))

    def slow(token: str) -> Sweep | None:
        clock.now_ms += next(takes_ms)
        return sweep_once(token)

    sweeper.sweep_once = slow  # type: ignore[method-assign]
    candidate = Candidate(store, sweeper, "a.s", clock)
    told = []
    for wait_ms in (0.0, 0.0, 0.0, BEAT_MS, BEAT_MS):
        clock.now_ms += wait_ms
        candidate.step()
        told.append(store.fleet.snapshot()["workers"][0].get("sweep_ms"))
    assert told == [None, None, None, 20, 2]


class MovedClock:
    now_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.now_ms


class StoppedClock:
    def monotonic_ms(self) -> float:
        return 0.0


def test_an_outage_is_one_line_in_the_log_and_its_end_another(fake: Backend, caplog: pytest.LogCaptureFixture) -> None:
    store = fake.store()
    candidate = Candidate(store, Sweeper(store), "a.s")
    candidate.step()
    caplog.clear()
    caplog.set_level(logging.INFO)
    surveying = store.sweeping.surveying

    def away(*_: object) -> None:
        raise StoreUnavailable("Redis cannot be reached")

    store.sweeping.surveying = away  # type: ignore[method-assign, assignment]
    for _ in range(5):
        assert candidate.step() > 0
    store.sweeping.surveying = surveying  # type: ignore[method-assign]
    candidate.step()
    candidate.step()
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
    assert "back" in caplog.records[1].getMessage()
