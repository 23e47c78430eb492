"""What a reviewer is told before and after deciding: the cause, what it cost so far, what refusing does."""

from __future__ import annotations

import pytest

from duly.common.explain.words import CAUSES
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceState
from duly.common.store import carry
from duly.common.store.holds import Resolution
from duly.scheduler.control.console import review
from tests.console.conftest import Console
from tests.console.test_actions import held
from tests.store.conftest import Bench
from tests.store.obstacles import put_in_the_way


def at(occurrence: Occurrence) -> str:
    return f"/holds/{occurrence.schedule_id}/{occurrence.tick_ms}"


def tick(occurrence: Occurrence) -> str:
    return f"/schedules/{occurrence.schedule_id}/ticks/{occurrence.tick_ms}"


def test_the_cause_of_a_hold_is_on_every_page_that_shows_the_hold(console: Console, bench: Bench) -> None:
    bench.add()
    occurrence = bench.due()
    owner = bench.running(occurrence).owner
    bench.store.attempts.report_death("docs", owner, "worker_died")
    assert bench.record(occurrence).state is OccurrenceState.HELD
    for path in ("/holds", at(occurrence), tick(occurrence)):
        assert f"Cause {CAUSES['worker_died']}" in console.get(path).text, path


def test_the_last_error_is_told_by_its_type_and_leads_to_the_log(console: Console, bench: Bench) -> None:
    bench.add(retry_budget=1)
    occurrence = bench.due()
    bench.store.attempts.fail(bench.running(occurrence), "builtins.ValueError")
    assert bench.record(occurrence).state is OccurrenceState.HELD
    for path in ("/holds", at(occurrence), tick(occurrence)):
        told = console.get(path).text
        assert "builtins.ValueError in attempt 1" in told, path
        assert "the log of worker" in told, path


def test_where_the_budget_is_spent_one_more_attempt_is_offered(console: Console, bench: Bench) -> None:
    bench.add(retry_budget=1)
    occurrence = bench.due()
    bench.store.attempts.fail(bench.running(occurrence), "builtins.ValueError")
    form = console.get(at(occurrence)).form(f"{at(occurrence)}/resolve")
    assert form["extra_attempts"] == "1"
    form |= {"outcome": "no-committed-result", "by": "ann", "evidence": "log 7"}
    assert "Resolved." in console.post(f"{at(occurrence)}/resolve", form).text
    assert bench.record(occurrence).state is OccurrenceState.PENDING


@pytest.mark.parametrize("outcome", ["committed", "abandoned"])
def test_the_extra_attempt_that_is_offered_is_no_part_of_another_outcome(
    console: Console, bench: Bench, outcome: str
) -> None:
    bench.add(retry_budget=1)
    occurrence = bench.due()
    bench.store.attempts.fail(bench.running(occurrence), "builtins.ValueError")
    form = console.get(at(occurrence)).form(f"{at(occurrence)}/resolve")
    form |= {"outcome": outcome, "by": "ann", "evidence": "log 7"}
    assert "Resolved." in console.post(f"{at(occurrence)}/resolve", form).text


def test_while_attempts_are_left_none_extra_is_offered(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    assert console.get(at(occurrence)).form(f"{at(occurrence)}/resolve")["extra_attempts"] == ""


def test_a_run_that_waits_for_approval_is_refused_once_with_a_reason(console: Console, bench: Bench) -> None:
    bench.add(approval="required")
    occurrence = bench.due()
    page = console.get(at(occurrence))
    assert "ends as abandoned and never runs" in page.text
    form = {**page.form(f"{at(occurrence)}/refuse"), "by": "ann", "evidence": "ticket 7"}
    for _ in range(2):
        assert "Refused: it never runs." in console.post(f"{at(occurrence)}/refuse", form).text
    record = bench.record(occurrence)
    assert record.state is OccurrenceState.ABANDONED
    assert record.resolution is not None
    assert (record.resolution["by"], record.resolution["evidence"]) == ("ann", "ticket 7")


def test_a_refusal_without_a_reason_refuses_nothing(console: Console, bench: Bench) -> None:
    bench.add(approval="required")
    occurrence = bench.due()
    page = console.send(console.get(at(occurrence)), f"{at(occurrence)}/refuse", 422, by="ann")
    assert "evidence" in page.text
    assert bench.record(occurrence).awaits_approval


def test_the_ticks_that_the_quarantine_has_skipped_are_counted(
    console: Console, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    occurrence = held(bench)
    for _ in range(3):
        bench.pass_time(100)
        bench.sweep()
    skipped = sum(event.count for event in bench.store.trails.events("docs")[0] if event.reason == "quarantined")
    assert skipped >= 3
    assert f"Skipped since {skipped} ticks" in console.get(at(occurrence)).text
    monkeypatch.setattr(review, "EVENTS_READ", 2)
    assert "Skipped since at least 2 ticks" in console.get(at(occurrence)).text


def with_catch_up(console: Console, occurrence: Occurrence) -> dict[str, str]:
    """The form that resolves a hold, filled in, and asking for the latest missed tick."""
    form = console.get(at(occurrence)).form(f"{at(occurrence)}/resolve")
    return {**form, "outcome": "committed", "by": "ann", "evidence": "log 7", "catch_up": "latest"}


def test_a_resolution_that_also_runs_the_latest_missed_tick_leads_to_that_tick(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    bench.pass_time(1_000)
    bench.sweep()
    page = console.post(f"{at(occurrence)}/resolve", with_catch_up(console, occurrence))
    missed_ms = bench.store.schedules.now_ms()
    assert "Resolved." in page.text
    assert tick(Occurrence("docs", missed_ms)) in page.links
    assert missed_ms in [each.until_ms for each in carry.load(bench.store.schedules.get("docs").carry)]


@pytest.mark.parametrize(
    ("obstacle", "said"),
    {
        "paused": "the schedule is paused",
        "changed": "somebody changed the schedule at the same moment",
        "unusable": "the schedule is stored in a form that cannot be used",
        "away": "It is not known whether the latest missed tick is run too",
        "deleted": "the schedule was deleted",
        "nothing": "no tick of its present timing was missed",
    }.items(),
)
def test_a_resolution_is_told_as_recorded_whatever_comes_of_its_catch_up(
    console: Console, bench: Bench, monkeypatch: pytest.MonkeyPatch, obstacle: str, said: str
) -> None:
    occurrence = held(bench)
    form = with_catch_up(console, occurrence)
    if obstacle == "deleted":
        bench.store.schedules.delete("docs")
    elif obstacle != "nothing":
        put_in_the_way(obstacle, bench, monkeypatch)
    page = console.post(f"{at(occurrence)}/resolve", form)
    assert bench.record(occurrence).state is OccurrenceState.SUCCEEDED
    assert page.url.partition("?")[0].endswith(tick(occurrence))
    assert "Resolved." in page.text
    assert said in page.text


def test_what_an_address_claims_of_a_catch_up_is_shown_only_in_our_own_words(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    shown = console.get(tick(occurrence))
    for query in ("catch_up=all+is+well", "catch_up=caught_up", "catch_up=caught_up&caught=" + "9" * 15):
        assert console.get(f"{tick(occurrence)}?{query}").text == shown.text
    assert "Nothing is caught up." in console.get(f"{tick(occurrence)}?catch_up=not_caught_up&caught=<b>").text
    assert console.get("/schedules/docs?done=run&tick=" + "9" * 15).text == console.get("/schedules/docs").text


def test_what_is_held_again_is_not_said_to_be_resolved(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.NO_COMMITTED_RESULT, "ann", "log 7")
    done = f"{tick(occurrence)}?done=resolved"
    assert "Resolved." in console.get(done).text
    bench.sweep()
    bench.running(occurrence, attempt=2)
    bench.expire(occurrence)
    bench.sweep()
    page = console.get(done).text
    assert "Resolved." not in page
    assert "the occurrence was held again" in page
    assert "then held again" in page
