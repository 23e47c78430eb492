"""The life of a schedule on the pages, from the form it is written with to its end."""

from __future__ import annotations

from typing import Any

from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects, OccurrenceState
from duly.common.records.schedule import ScheduleState
from tests.browser.conftest import Complaints, wait_for
from tests.store.conftest import Bench

# However long a page takes, no tick gives way to a newer one.
EVERY_SECOND: dict[str, Any] = {
    "spec": "@every:1000",
    "missed_run_policy": "backfill",
    "backfill_limit": 5,
    "lease_ttl_ms": 60_000,
}


def held(bench: Bench) -> Occurrence:
    """An occurrence of 'docs' whose outcome nobody knows."""
    bench.add(**EVERY_SECOND)
    occurrence = bench.due()
    bench.running(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    return occurrence


def test_it_is_written_while_its_ticks_are_drawn_beside_the_form(page: Any, site: str, bench: Bench) -> None:
    page.goto(site)
    page.get_by_role("link", name="Write the first one").click()
    page.get_by_label("Id").fill("made")
    page.get_by_label("Expression").fill("61 * * * *")
    wait_for(page, "#preview .problem", "minute")
    page.get_by_label("Expression").fill("CRON_TZ=Europe/Berlin 0 9 * * *")
    wait_for(page, "#preview td", "09:00")
    page.get_by_label("Task").fill("docs.refresh")
    page.get_by_label("Run once").check()
    page.get_by_label("Review owner").fill("ann")
    page.get_by_role("button", name="Write the schedule").click()
    wait_for(page, ".notice", "The schedule is written.")
    definition = bench.store.schedules.get("made").definition
    assert (definition.spec, definition.missed_run_policy) == ("CRON_TZ=Europe/Berlin 0 9 * * *", "run_once")


def test_its_runs_appear_on_the_open_page_as_they_come(page: Any, site: str, bench: Bench) -> None:
    bench.add(**EVERY_SECOND)
    page.goto(f"{site}/schedules/docs")
    wait_for(page, "#status[data-is=live]")
    page.evaluate("window.never_loaded_again = true")
    for _ in range(2):
        occurrence = bench.due()
        row = f"#r-runs tr:has(a[href$='/{occurrence.tick_ms}'])"
        lease = bench.lease(occurrence)
        assert bench.begin(lease, Effects.IDEMPOTENT)
        wait_for(page, row, "running")
        bench.store.attempts.complete(lease, "etag:1")
        wait_for(page, row, "succeeded")
    assert page.evaluate("window.never_loaded_again")


def test_a_double_click_on_enqueue_now_makes_one_run(page: Any, site: str, bench: Bench) -> None:
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    page.get_by_role("button", name="Enqueue now").dblclick()
    wait_for(page, ".notice", "Enqueued:")
    assert len(bench.queue()) == 1


def test_a_double_click_makes_one_run_also_without_scripts(scriptless: Any, site: str, bench: Bench) -> None:
    bench.add(spec="@every:3600000")
    scriptless.goto(f"{site}/schedules/docs")
    scriptless.get_by_role("button", name="Enqueue now").dblclick()
    wait_for(scriptless, ".notice", "Enqueued")
    assert len(bench.queue()) == 1


def test_it_is_paused_with_a_note_and_resumed(page: Any, site: str, bench: Bench) -> None:
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    page.locator("summary", has_text="Pause").click()
    page.get_by_label("Why").fill("moving house")
    page.get_by_role("button", name="Pause").click()
    wait_for(page, ".notice", "Paused.")
    wait_for(page, "#r-stands", "moving house")
    assert bench.store.schedules.get("docs").state is ScheduleState.PAUSED
    assert page.get_by_role("button", name="Enqueue now").is_disabled()
    page.get_by_role("button", name="Resume").click()
    wait_for(page, ".notice", "Resumed.")
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


def test_an_edit_shows_what_changes_before_it_is_saved(page: Any, site: str, bench: Bench) -> None:
    bench.add(spec="0 * * * *")
    page.goto(f"{site}/schedules/docs")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Expression").fill("30 * * * *")
    page.get_by_role("button", name="Show what changes").click()
    wait_for(page, ".diff del", "0 * * * *")
    wait_for(page, ".diff ins", "30 * * * *")
    wait_for(page, ".tickdiff .d-removed", ":00:00")
    wait_for(page, ".tickdiff .d-added", ":30:00")
    assert bench.store.schedules.get("docs").definition.spec == "0 * * * *"
    page.get_by_role("button", name="Save").click()
    wait_for(page, ".notice", "The change is made.")
    wait_for(page, "#r-stands", "30 * * * *")


def test_a_hold_appears_on_the_open_overview_and_is_resolved(page: Any, site: str, bench: Bench) -> None:
    page.goto(site)
    wait_for(page, "#status[data-is=live]")
    occurrence = held(bench)
    page.locator("#r-waiting").get_by_role("link", name="docs").click()
    page.get_by_label("The effect did not happen").check()
    page.get_by_label("Your name").fill("ann")
    page.get_by_label("What you looked at").fill("log 7")
    page.get_by_role("button", name="Resolve the hold").click()
    wait_for(page, ".notice", "Resolved.")
    record = bench.record(occurrence)
    assert record.state is OccurrenceState.PENDING
    assert record.resolution is not None
    assert (record.resolution["by"], record.resolution["evidence"]) == ("ann", "log 7")


def test_a_run_that_waits_for_its_reviewer_is_approved(page: Any, site: str, bench: Bench) -> None:
    bench.add(**EVERY_SECOND, approval="required")
    occurrence = bench.due()
    page.goto(f"{site}/holds")
    page.get_by_role("link", name="Look and approve").click()
    page.get_by_label("Who approves").fill("ann")
    page.get_by_role("button", name="Approve the run").click()
    wait_for(page, ".notice", "Approved")
    assert bench.record(occurrence).approved_by == "ann"


def test_it_is_deleted_only_when_its_id_is_typed(page: Any, site: str, bench: Bench, complaints: Complaints) -> None:
    complaints.expect("the server responded with a status of 422")
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    for typed, answer in (("dosc", "type docs to delete it"), ("docs", "Deleted:")):
        if not page.get_by_label("Type docs to delete it").is_visible():
            page.locator("summary", has_text="Delete").click()
        page.get_by_label("Type docs to delete it").fill(typed)
        page.get_by_role("button", name="Delete").click()
        wait_for(page, ".notice", answer)
        assert bench.store.schedules.exists("docs") is (typed == "dosc")
