"""The past reads the same while more of it is being written."""

from __future__ import annotations

import pytest

from duly.common.errors import InvalidField
from tests.conftest import Backend
from tests.store.conftest import Bench


def test_pages_of_events_stay_right_while_events_are_added(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    for _ in range(9):
        fake_bench.due()
    first, cursor = fake_bench.store.trails.events("docs", 4)
    fake_bench.due()
    second, cursor = fake_bench.store.trails.events("docs", 4, cursor)
    third, end = fake_bench.store.trails.events("docs", 4, cursor)
    ticks = [event.tick_ms for event in first + second + third]
    assert ticks == sorted(set(ticks), reverse=True)
    assert len(ticks) == 9
    assert end is None


def test_the_fleet_s_history_holds_every_schedule_s_transitions(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.add(schedule_id="other", spec="@every:1000")
    bench.store.attempts.complete(bench.running(bench.due()), "")
    bench.due("other")
    events = [(e.schedule_id, e.event) for e in bench.store.trails.runs(None, 100)[0]]
    assert {("docs", "succeeded"), ("other", "enqueued")} <= set(events)


def test_following_gives_what_is_recorded_after_the_cursor_oldest_first(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    cursor = bench.store.trails.last_run_cursor("docs")
    bench.running(bench.due())
    followed, cursor = bench.store.trails.runs_after(cursor, "docs", block_ms=10)
    assert [event.event for event in followed] == ["enqueued", "acquired", "began"]
    assert cursor == followed[-1].cursor
    assert bench.store.trails.runs_after(cursor, "docs", block_ms=10) == ([], cursor)


def test_the_schedule_s_history_is_capped(fake: Backend) -> None:
    bench = Bench(fake, fake.store(schedule_history=20))
    bench.add(spec="@every:100")
    for _ in range(60):
        bench.due()
    assert bench.backend.client.xlen(bench.store.keys.runs("docs")) == 20


@pytest.mark.parametrize("cursor", ["", "x", "1", "1-", "-", "1-1-1", "9" * 30, "18446744073709551616-0", "+", "1-1\n"])
def test_a_cursor_that_no_page_gave_is_refused(bench: Bench, cursor: str) -> None:
    with pytest.raises(InvalidField, match="cursor"):
        bench.store.trails.events("docs", 10, cursor)


def test_the_lines_of_version_0_1_are_still_read(fake_bench: Bench) -> None:
    keys, client = fake_bench.store.keys, fake_bench.backend.client
    run = {
        "event": "began", "schedule_id": "old", "tick_ms": "5", "state": "RUNNING", "attempt": "1", "worker": "w@1",
        "fencing_token": "7", "reason": "CALENDAR_RUN_REVIEW_REQUIRED", "at_ms": "6",
    }  # fmt: skip
    tick = {
        "tick_ms": "5", "outcome": "enqueued", "reason": "accepted", "job_id": "", "count": "1", "first_tick_ms": "5",
        "last_tick_ms": "5", "first_recorded_ms": "6", "recorded_ms": "6",
    }  # fmt: skip
    client.xadd(keys.runs("old"), run)
    client.xadd(keys.events("old"), tick)
    [old_run], [old_tick] = fake_bench.store.trails.runs("old")[0], fake_bench.store.trails.events("old")[0]
    assert (old_run.event, old_run.worker, old_run.fencing_token, old_run.at_ms) == ("began", "w@1", 7, 6)
    assert (old_tick.outcome, old_tick.job_id, old_tick.recorded_ms) == ("enqueued", None, 6)


def test_nothing_of_a_payload_reaches_the_trails(bench: Bench) -> None:
    bench.add(spec="@every:1000", kwargs={"password": "hunter2"})
    bench.store.attempts.fail(bench.running(bench.due()), "ValueError")
    text = str(bench.store.trails.events("docs", 100)) + str(bench.store.trails.runs(None, 100))
    assert "hunter2" not in text
