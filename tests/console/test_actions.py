"""What can be done on the pages: each action works, says what it did, and is done once however often it is sent."""

from __future__ import annotations

import pytest

from duly.common.identity import Occurrence, job_id
from duly.common.records.occurrence import OccurrenceState
from duly.common.records.schedule import ScheduleState
from duly.common.store.holds import Resolution
from tests.console.conftest import Console
from tests.console.reading import Page
from tests.store.conftest import Bench

NEW = {"schedule_id": "made", "spec": "*/5 * * * *", "task": "docs.refresh", "missed_run_policy": "skip"}
NEW |= {"review_owner": "ann"}


def changes(bench: Bench, schedule_id: str = "docs") -> list[tuple[str, str]]:
    """(what, by whom) of the schedule's changes, the oldest first."""
    return [(each.what, each.actor) for each in bench.store.trails.changes(schedule_id)[0]][::-1]


def held(bench: Bench) -> Occurrence:
    """An occurrence whose outcome nobody knows."""
    bench.add()
    occurrence = bench.due()
    bench.running(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    return occurrence


def test_a_double_click_on_enqueue_now_makes_one_run(console: Console, bench: Bench) -> None:
    bench.add()
    form = console.get("/schedules/docs").form("/schedules/docs/run")
    first, second = (console.post("/schedules/docs/run", form) for _ in range(2))
    assert first.url == second.url
    assert "Enqueued:" in first.text
    assert len(bench.queue()) == 1
    assert changes(bench)[-1] == ("run", "console")


def test_the_same_form_in_another_console_process_finds_the_same_run(console: Console, bench: Bench) -> None:
    from tests.console.conftest import console_on

    bench.add()
    form = console.get("/schedules/docs").form("/schedules/docs/run")
    console.post("/schedules/docs/run", form)
    again = console_on(bench.store).post("/schedules/docs/run", form)
    assert "Enqueued before:" in again.text
    assert len(bench.queue()) == 1


def test_a_page_rendered_anew_makes_another_run(console: Console, bench: Bench) -> None:
    bench.add(spec="@every:60000")
    for _ in range(2):
        console.send(console.get("/schedules/docs"), "/schedules/docs/run")
    assert len(bench.queue()) == 2


def test_pausing_takes_a_note_and_an_end_and_happens_once(console: Console, bench: Bench) -> None:
    bench.add()
    form = console.get("/schedules/docs").form("/schedules/docs/pause")
    form |= {"note": "moving house", "until": "2026-01-02T09:00"}
    for _ in range(2):
        page = console.post("/schedules/docs/pause", form)
    record = bench.store.schedules.get("docs")
    assert (record.state, record.note) == (ScheduleState.PAUSED, "moving house")
    assert record.paused_until_ms == 1_767_344_400_000
    assert "moving house" in page.text
    assert [what for what, _ in changes(bench)] == ["created", "paused"]


def test_a_pause_without_a_note_is_refused_in_place_with_what_was_typed(console: Console, bench: Bench) -> None:
    bench.add()
    page = console.send(
        console.get("/schedules/docs"), "/schedules/docs/pause", 422, note=" ", until="2027-01-01T00:00"
    )
    assert "note : must be one line" in page.text
    assert page.form("/schedules/docs/pause")["until"] == "2027-01-01T00:00"
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


def test_resuming_runs_the_latest_missed_tick_only_if_asked(console: Console, bench: Bench) -> None:
    bench.add(spec="@every:60000")
    bench.store.schedules.pause("docs", "later")
    bench.pass_time(300_000)
    console.send(console.get("/schedules/docs"), "/schedules/docs/resume", catch_up="latest")
    bench.sweep()
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE
    assert len(bench.queue()) == 1


def test_releasing_runs_the_tick_that_a_hold_kept_from_running(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    bench.pass_time(1_000)
    bench.sweep()
    missed = Occurrence("docs", occurrence.tick_ms + 1_000)
    assert bench.events()[0] == (missed.tick_ms, "skipped", "quarantined")
    bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "log 7")
    page = console.send(console.get("/schedules/docs"), "/schedules/docs/release")
    assert "Released:" in page.text
    assert f"/schedules/docs/ticks/{missed.tick_ms}" in page.links
    bench.sweep()
    assert bench.record(missed).state is OccurrenceState.PENDING
    assert bench.queue()[-1] == job_id(missed, 1)
    assert not console.get("/schedules/docs").has_form("/schedules/docs/release")


def test_a_release_after_which_nothing_was_missed_runs_nothing_and_says_so(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "log 7")
    queued, revision = bench.queue(), str(bench.store.schedules.get("docs").revision)
    page = console.post("/schedules/docs/release", {"key": "k", "revision": revision})
    assert "Nothing was released: no tick was missed." in page.text
    bench.sweep()
    assert bench.queue() == queued


def test_deleting_needs_the_id_typed_and_leaves_the_record_readable(console: Console, bench: Bench) -> None:
    bench.add()
    bench.due()
    page = console.get("/schedules/docs")
    assert "type docs to delete it" in console.send(page, "/schedules/docs/delete", 422, typed="dosc").text
    assert bench.store.schedules.exists("docs")
    form = {**page.form("/schedules/docs/delete"), "typed": "docs"}
    for _ in range(2):
        assert "docs" in console.post("/schedules/docs/delete", form).text
    assert not bench.store.schedules.exists("docs")
    assert "was deleted" in console.get("/schedules/docs").text


@pytest.mark.parametrize(("field", "value"), [("definition", "{}"), ("carry", "[[")])
def test_an_unusable_schedule_says_what_is_wrong_with_it_and_can_be_deleted(
    console: Console, bench: Bench, field: str, value: str
) -> None:
    bench.add()
    occurrence = bench.due()
    bench.backend.client.hset(bench.store.keys.schedule("docs"), field, value)
    page = console.get("/schedules/docs")
    assert "This schedule is stored in a form that cannot be used" in page.text
    assert f"/schedules/docs/ticks/{occurrence.tick_ms}" in page.links
    assert [form.action for form in page.forms if form.action.startswith("/schedules/docs/")] == [
        "/schedules/docs/delete"
    ]
    assert "type docs to delete it" in console.send(page, "/schedules/docs/delete", 422, typed="dosc").text
    assert bench.store.schedules.exists("docs")
    assert "Deleted:" in console.send(page, "/schedules/docs/delete", typed="docs").text
    assert not bench.store.schedules.exists("docs")
    assert "was deleted" in console.get("/schedules/docs").text


def test_an_unusable_schedule_that_was_changed_since_it_was_looked_at_is_not_deleted(
    console: Console, bench: Bench
) -> None:
    bench.add()
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "carry", "[[")
    page = console.get("/schedules/docs")
    bench.backend.client.hincrby(bench.store.keys.schedule("docs"), "revision", 1)
    assert "Somebody changed the schedule" in console.send(page, "/schedules/docs/delete", 409, typed="docs").text
    assert bench.store.schedules.exists("docs")


def test_a_stale_page_changes_nothing(console: Console, bench: Bench) -> None:
    bench.add()
    stale = console.get("/schedules/docs")
    bench.store.schedules.pause("docs", "somebody else's note")
    bench.store.schedules.resume("docs")
    page = console.send(stale, "/schedules/docs/pause", 409, note="mine")
    assert "Somebody changed the schedule" in page.text
    assert bench.store.schedules.get("docs").state is ScheduleState.ACTIVE


def test_a_held_schedule_is_not_run_and_says_why(console: Console, bench: Bench) -> None:
    held(bench)
    page = console.post("/schedules/docs/run", {"key": "k"}, 423)
    assert "resolve its holds first" in page.text


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("no-committed-result", OccurrenceState.PENDING),
        ("committed", OccurrenceState.SUCCEEDED),
        ("abandoned", OccurrenceState.ABANDONED),
    ],
)
def test_a_hold_is_resolved_once_as_its_reviewer_found(
    console: Console, bench: Bench, outcome: str, state: OccurrenceState
) -> None:
    occurrence = held(bench)
    at = f"/holds/docs/{occurrence.tick_ms}"
    page = console.get(at)
    form = {**page.form(f"{at}/resolve"), "outcome": outcome, "by": "ann", "evidence": "log 7"}
    first, second = (console.post(f"{at}/resolve", form) for _ in range(2))
    assert first.url == second.url
    assert "Resolved." in first.text
    record = bench.record(occurrence)
    assert record.state is state
    assert record.resolution is not None
    assert (record.resolution["by"], record.resolution["evidence"]) == ("ann", "log 7")


def test_a_hold_of_a_deleted_schedule_is_offered_no_further_attempt(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    at = f"/holds/docs/{occurrence.tick_ms}"
    kept = console.get(at)
    assert {"extra_attempts", "catch_up"} <= kept.form(f"{at}/resolve").keys()
    bench.store.schedules.delete("docs")
    gone = console.get(at)
    assert not {"extra_attempts", "catch_up"} & gone.form(f"{at}/resolve").keys()
    said = "its schedule was deleted, so that no attempt follows"
    assert (said in kept.text, said in gone.text) == (False, True)
    assert "the quarantine ends" not in gone.text


@pytest.mark.parametrize("missing", ["by", "evidence", "outcome", "seen"])
def test_a_resolution_without_everything_it_needs_is_refused_in_place(
    console: Console, bench: Bench, missing: str
) -> None:
    occurrence = held(bench)
    at = f"/holds/docs/{occurrence.tick_ms}"
    form = {**console.get(at).form(f"{at}/resolve"), "outcome": "committed", "by": "ann", "evidence": "log 7"}
    page = console.post(f"{at}/resolve", {**form, missing: ""}, 422)
    assert missing in page.text
    kept = page.form(f"{at}/resolve")
    assert kept["by"] == ("" if missing == "by" else "ann")
    assert bench.record(occurrence).state is OccurrenceState.HELD


def test_a_record_that_changed_since_it_was_looked_at_is_not_resolved(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    at = f"/holds/docs/{occurrence.tick_ms}"
    form = {**console.get(at).form(f"{at}/resolve"), "outcome": "committed", "by": "ann", "evidence": "log 7"}
    bench.store.attempts.complete(bench.lease_of(occurrence), "etag:late")
    page = console.post(f"{at}/resolve", form, 409)
    assert "The record changed since you opened this page" in page.text
    assert "etag:late" in page.text
    assert bench.record(occurrence).state is OccurrenceState.HELD


def test_a_run_that_waits_for_its_reviewer_is_approved_once(console: Console, bench: Bench) -> None:
    bench.add(approval="required")
    occurrence = bench.due()
    at = f"/holds/docs/{occurrence.tick_ms}"
    assert "to approve" in console.get("/holds").text
    page = console.get(at)
    refused = console.send(page, f"{at}/approve", 403, by="bob")
    assert "reviewer only" in refused.text
    form = {**page.form(f"{at}/approve"), "by": "ann"}
    for _ in range(2):
        assert "Approved" in console.post(f"{at}/approve", form).text
    assert bench.record(occurrence).approved_by == "ann"


def test_a_new_schedule_is_previewed_and_then_written_once(console: Console, bench: Bench) -> None:
    page = console.get("/new")
    spec = "CRON_TZ=America/New_York 30 1,2 * * *"
    preview = console.post("/new", {**page.form("/new"), **NEW, "spec": spec, "preview": "1"})
    assert not bench.store.schedules.exists("made")
    assert "02:30 does not exist on that day" in preview.text
    assert "01:30 comes twice on that day" in preview.text
    assert preview.form("/new")["spec"] == spec
    form = {**preview.form("/new"), "save": "1"}
    for _ in range(2):
        assert "The schedule is written." in console.post("/new", form).text
    assert bench.store.schedules.get("made").definition.spec == spec
    assert changes(bench, "made") == [("created", "console")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("spec", "61 * * * *"),
        ("kwargs", "{"),
        ("retry_budget", "many"),
        ("schedule_id", "Not an id"),
        ("review_owner", ""),
    ],
)
def test_a_new_schedule_that_is_not_valid_is_refused_in_place(
    console: Console, bench: Bench, field: str, value: str
) -> None:
    page = console.post("/new", {**console.get("/new").form("/new"), **NEW, field: value, "save": "1"}, 422)
    assert page.form("/new")[field] == value
    assert page.form("/new")["task"] == "docs.refresh"
    assert field in page.text
    assert bench.store.schedules.page(10)[0] == []


def test_an_edit_shows_which_ticks_change_before_it_is_made(console: Console, bench: Bench) -> None:
    bench.add(spec="0 * * * *", retry_budget=7)
    page = console.get("/schedules/docs/edit")
    shown = console.send(page, "/schedules/docs/edit", spec="30 * * * *", preview="1")
    assert ticks_of(shown) == {"added", "removed"}
    assert bench.store.schedules.get("docs").definition.spec == "0 * * * *"
    form = {**shown.form("/schedules/docs/edit"), "save": "1"}
    for _ in range(2):
        assert "The change is made." in console.post("/schedules/docs/edit", form).text
    after = bench.store.schedules.get("docs").definition
    assert (after.spec, after.retry_budget) == ("30 * * * *", 7)
    assert [what for what, _ in changes(bench)] == ["created", "updated"]


def ticks_of(page: Page) -> set[str]:
    kinds = [attrs.get("class") or "" for tag, attrs in page.tags if tag == "li"]
    return {kind.removeprefix("d-") for kind in kinds if kind.startswith("d-")}


def test_a_half_that_stays_is_told_from_a_half_that_goes(console: Console, bench: Bench) -> None:
    bench.add(spec="0,30 * * * *")
    page = console.get("/schedules/docs/edit")
    assert ticks_of(console.send(page, "/schedules/docs/edit", spec="0 * * * *", preview="1")) == {"kept", "removed"}


def test_a_change_of_the_model_must_be_restated(console: Console, bench: Bench) -> None:
    bench.add(spec="0 * * * *")
    page = console.get("/schedules/docs/edit")
    refused = console.send(page, "/schedules/docs/edit", 422, spec="@every:60000", save="1")
    assert "must be stated again" in refused.text
    made = console.send(page, "/schedules/docs/edit", spec="@every:60000", restated="1", save="1")
    assert "The change is made." in made.text


@pytest.mark.parametrize("factor", ["nan", "inf", "-inf"])
def test_a_number_that_is_none_is_one_line_on_the_form(console: Console, bench: Bench, factor: str) -> None:
    bench.add()
    console.send(console.get("/schedules/docs/edit"), "/schedules/docs/edit", 422, backoff_factor=factor, save="1")


def test_an_argument_that_turns_into_another_kind_of_value_is_a_change(console: Console, bench: Bench) -> None:
    bench.add(args=[1])
    page = console.send(console.get("/schedules/docs/edit"), "/schedules/docs/edit", args="[true]", save="1")
    assert "The change is made." in page.text
    assert bench.store.schedules.get("docs").definition.args == [True]
    assert bench.store.trails.changes("docs")[0][0].detail == {"fields": {"args": None}}


def test_an_edit_that_changes_nothing_leaves_the_revision(console: Console, bench: Bench) -> None:
    bench.add(start_at="2026-01-01T00:00:00Z", kwargs={"path": "é"}, max_lateness_ms=5000)
    page = console.send(console.get("/schedules/docs/edit"), "/schedules/docs/edit", save="1")
    assert "Nothing was changed" in page.text
    assert bench.store.schedules.get("docs").revision == 1


def test_a_form_that_was_changed_after_going_back_is_not_taken_for_the_one_before(
    console: Console, bench: Bench
) -> None:
    bench.add()
    form = {**console.get("/schedules/docs").form("/schedules/docs/pause"), "note": "first"}
    console.post("/schedules/docs/pause", form)
    page = console.post("/schedules/docs/pause", {**form, "note": "second"}, 409)
    assert "Somebody changed the schedule" in page.text
    assert bench.store.schedules.get("docs").note == "first"


def test_both_sides_that_claim_an_occurrence_stand_beside_each_other(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    bench.store.attempts.complete(bench.lease_of(occurrence), "etag:late")
    page = console.get(f"/holds/docs/{occurrence.tick_ms}")
    assert "Who claims it" in page.text
    assert [attrs["class"] for tag, attrs in page.tags if attrs.get("class") == "side"] == ["side", "side"]
    assert "began, and reported nothing" in page.text
    assert "reported etag:late without a proven lease" in page.text


def test_the_fields_that_block_are_marked_among_the_eighteen(console: Console, bench: Bench) -> None:
    occurrence = held(bench)
    page = console.get(f"/holds/docs/{occurrence.tick_ms}")
    verdict = bench.record(occurrence).decisions[-1].again()
    rows = [attrs for tag, attrs in page.tags if tag == "tr" and attrs.get("class") == "blocks"]
    assert len(rows) == len(verdict.blocking_fields) > 0
    assert verdict.explanation in page.text


def test_each_policy_is_named_as_the_console_names_it(console: Console, bench: Bench) -> None:
    bench.add(schedule_id="a", missed_run_policy="skip")
    bench.add(schedule_id="b", missed_run_policy="run_once")
    bench.add(schedule_id="c", missed_run_policy="backfill", backfill_limit=7)
    for schedule_id, label in (("a", "Skip backlog"), ("b", "Run once"), ("c", "Backfill up to 7")):
        page = console.get(f"/schedules/{schedule_id}")
        assert label in page.text
        assert "Enqueue now" in page.text
