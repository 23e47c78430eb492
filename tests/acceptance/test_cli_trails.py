"""The past from the command line: events, runs, occurrences and holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duly.common.explain import words
from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store.trails import TrailStore
from tests.acceptance.conftest import ADD, Cli
from tests.store.conftest import Bench

MINUTE = 60_000


def squeezed(line: str) -> str:
    """The line without its columns."""
    return " ".join(line.split())


def test_events_come_in_pages_and_outlive_their_schedule(cli: Cli, lived_in: Occurrence) -> None:
    cli.json("schedule", "delete", "feed")
    first = cli.json("events", "feed", "--limit", "2")
    rest = cli.json("events", "feed", "--cursor", first["next_cursor"])
    reasons = [event["reason"] for event in first["events"] + rest["events"]]
    assert reasons == ["accepted", "backlog_dropped", "accepted"]
    assert rest["next_cursor"] is None


def test_runs_can_be_those_of_one_schedule_or_of_the_fleet(cli: Cli, lived_in: Occurrence) -> None:
    own = cli.json("runs", "docs")["runs"]
    assert [run["event"] for run in own][:3] == ["held", "began", "acquired"]
    assert {run["schedule_id"] for run in cli.json("runs", "--limit", "100")["runs"]} >= {"docs", "feed"}


def test_pages_of_runs_meet_without_gap_or_overlap(cli: Cli, lived_in: Occurrence) -> None:
    seen: list[Any] = []
    cursor: list[str] = []
    while True:
        page = cli.json("runs", "--limit", "3", *cursor)
        seen += page["runs"]
        if page["next_cursor"] is None:
            break
        cursor = ["--cursor", page["next_cursor"]]
    assert seen == cli.json("runs", "--limit", "100")["runs"]


def test_following_shows_the_latest_and_then_each_new_run(
    cli: Cli, lived_in: Occurrence, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def runs_after(
        self: TrailStore, cursor: str, schedule_id: str | None = None, **_: int
    ) -> tuple[list[RunEvent], str]:
        asked.append(cursor)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return [RunEvent("9999999999999-0", "began", "docs", 1, "RUNNING", 1, "w", 3, None, 5)], "9999999999999-1"

    monkeypatch.setattr(TrailStore, "runs_after", runs_after)
    result = cli("runs", "docs", "--follow", "--limit", "2", "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 130
    assert [(line["event"], line["tick_ms"]) for line in lines] == [
        ("began", lived_in.tick_ms),
        ("held", lived_in.tick_ms),
        ("began", 1),
    ]
    assert asked[1] == "9999999999999-1"


def test_a_followed_run_is_one_line_for_people(cli: Cli, lived_in: Occurrence, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(TrailStore, "runs_after", interrupted)
    said = cli("runs", "docs", "-f", "--limit", "1").stdout
    assert [line.split() for line in said.splitlines()] == [
        ["AT", "TICK", "TRY", "EVENT", "WORKER"],
        ["2026-01-01", "UTC"],
        ["00:01:00.000", "00:01:00", "1", "HELD:", "prior", "outcome", "unknown", "w"],
    ]


def test_the_runs_of_the_fleet_are_one_line_each_under_the_date(cli: Cli, lived_in: Occurrence) -> None:
    lines = cli.text("runs", "--limit", "100").splitlines()
    assert lines[0].split() == ["AT", "SCHEDULE", "TICK", "TRY", "EVENT", "WORKER"]
    assert lines[1] == "2026-01-01 UTC"
    assert len(lines) == 2 + len(cli.json("runs", "--limit", "100")["runs"])
    assert any(squeezed(line) == "00:01:00.000 docs 00:01:00 1 HELD: prior outcome unknown w" for line in lines)
    shortened = [line for line in lines if line.split()[1].startswith("aaa")]
    assert shortened
    assert all("…" in line for line in shortened)


def test_a_tick_of_another_day_has_its_date_and_a_new_day_is_a_line_of_its_own(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    tick_ms, day_ms = 1_767_225_590_000, 86_400_000
    page = [
        RunEvent("2-0", "began", "docs", tick_ms, "RUNNING", 1, "vm-7.2.5be66f@28", 3, None, tick_ms + day_ms),
        RunEvent("1-0", "acquired", "docs", tick_ms, "LEASED", 1, "vm-7.2.5be66f@28", 3, None, tick_ms),
    ]
    monkeypatch.setattr(TrailStore, "runs", lambda *_: (page, None))
    said = cli.text("runs").splitlines()[1:]
    assert said[::2] == ["2026-01-01 UTC", "2025-12-31 UTC"]
    assert squeezed(said[1]) == "23:59:50.000 docs 2025-12-31 23:59:50 1 began vm-7.2"
    assert squeezed(said[3]) == "23:59:50.000 docs 23:59:50 1 acquired vm-7.2"


@pytest.mark.parametrize(
    ("event", "reason", "said"),
    [
        ("enqueued", "scheduled", "enqueued"),
        ("failed", "ValueError", "failed: ValueError"),
        ("held", "HOLD_RETRY_BUDGET_EXHAUSTED", "HELD: retry budget exhausted"),
        ("held", "HOLD_CHRONOLOGY_INVALID", "HELD: chronology invalid"),
        ("delivered", "again", "delivered again: was not queued"),
        ("outcome_unknown", "lease_expired", "outcome unknown: lease expired"),
        ("resolved", "no-committed-result", "resolved: no committed result"),
        ("succeeded", "resolved", "succeeded, says a reviewer"),
        ("retry_due", None, "retry due"),
        ("a_new_one", "for_us", "a new one: for us"),
    ],
)
def test_a_transition_is_told_in_plain_words(event: str, reason: str | None, said: str) -> None:
    assert words.transition(RunEvent("1-0", event, "docs", 1, "S", 1, None, None, reason, 5)) == said


def test_long_names_and_reasons_keep_one_line_with_the_ends_of_names_in_sight(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = "ip-10-20-30-40.eu-central-1.compute.internal-4711.12.5be66f@28"
    page = [RunEvent("2-0", "failed", "a" * 64, 1_500, "RETRY_WAIT", 100, worker, 3, "Very" * 40 + "Error", 86_400_000)]
    monkeypatch.setattr(TrailStore, "runs", lambda *_: (page, None))
    line = cli.text("runs").splitlines()[2]
    assert len(line) <= 80
    assert line.count("…") == 3
    assert line.endswith(".12")
    wide = cli.text("runs", COLUMNS="400").splitlines()[2]
    assert "…" not in wide


def test_records_that_are_none_of_ours_hide_none_and_an_empty_page_leads_on(
    cli: Cli, bench: Bench, lived_in: Occurrence
) -> None:
    keys, client = bench.store.keys, bench.backend.client
    lists = {
        ("runs",): "runs",
        ("runs", "docs"): "runs",
        ("events", "docs"): "events",
        ("schedule", "changes", "docs"): "changes",
    }
    before = [cli.json(*asked)[name] for asked, name in lists.items()]
    for key in (keys.fleet_runs, keys.runs("docs"), keys.events("docs"), keys.changes("docs")):
        client.xadd(key, {"x": "y"})
    client.set(keys.worker("host-1.1"), "not json")
    assert [cli.json(*asked)[name] for asked, name in lists.items()] == before
    for asked in lists:
        assert " ".join(("more: duly", *asked, "--cursor")) in squeezed(cli.text(*asked, "--limit", "1"))
    assert [each["name"] for each in cli.json("fleet")["workers"]] == ["host-1.s"]


def test_events_are_one_line_each_with_the_count_and_the_range_of_what_was_dropped(
    cli: Cli, lived_in: Occurrence
) -> None:
    lines = cli.text("events", "feed").splitlines()
    assert [squeezed(line) for line in lines] == [
        "TICK OUTCOME REASON COUNT RECORDED",
        "2026-01-01 UTC",
        "01:01:00 enqueued 01:01:00",
        "00:02:00..01:00:00 skipped missed-run policy 59 ticks 01:01:00",
        "00:01:00 enqueued 00:01:00",
    ]
    assert squeezed(cli.text("events", "docs").splitlines()[2]) == "01:01:00 skipped a hold is open 01:01:00"


def test_every_reason_of_an_event_fits_beside_a_range_of_two_days(
    cli: Cli, lived_in: Occurrence, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = [
        EnqueueEvent(
            "1-0", 5, "deduplicated", reason, None, 99, 1_767_139_200_000, 1_767_225_700_000, 1_767_225_700_001
        )
        for reason in words.AUDIT
    ]
    monkeypatch.setattr(TrailStore, "events", lambda *_: (page, None))
    lines = cli.text("events", "docs").splitlines()
    assert len(lines) == len(page) + 2
    assert max(map(len, lines)) <= 80


def test_an_extra_run_with_the_same_key_is_the_same_run(cli: Cli, lived_in: Occurrence) -> None:
    first = cli.json("run", "feed", "--idempotency-key", "k")
    again = cli.json("run", "feed", "--idempotency-key", "k")
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert {**again, "replayed": False} == first
    shown = cli.json("occurrence", "feed", str(first["tick_ms"]))
    assert (shown["kind"], shown["state"]) == ("manual", "PENDING")


def test_holds_say_why_in_words_and_in_json(cli: Cli, lived_in: Occurrence) -> None:
    (held,) = cli.json("holds")["holds"]
    assert (held["schedule_id"], held["tick_ms"], held["reason"]) == (
        "docs",
        lived_in.tick_ms,
        "HOLD_PRIOR_OUTCOME_UNKNOWN",
    )
    assert "an earlier run may have taken effect" in " ".join(cli.text("holds").split())


def test_holds_come_in_pages(cli: Cli, bench: Bench) -> None:
    for name in "abc":
        bench.add(schedule_id=name, spec="@every:60000")
        occurrence = bench.due(name)
        bench.running(occurrence)
        bench.expire(occurrence)
        bench.sweep()
    first = cli.json("holds", "--limit", "2")
    rest = cli.json("holds", "--limit", "2", "--cursor", first["next_cursor"])
    assert [held["schedule_id"] for held in first["holds"] + rest["holds"]] == ["a", "b", "c"]


def resolve(occurrence: Occurrence, outcome: str, *more: str) -> list[str]:
    words = ["--outcome", outcome, "--by", "ann", "--evidence", "ticket 7", *more]
    return ["hold", "resolve", occurrence.schedule_id, str(occurrence.tick_ms), *words]


@pytest.mark.parametrize(
    ("outcome", "state"), [("committed", "SUCCEEDED"), ("abandoned", "ABANDONED"), ("no-committed-result", "PENDING")]
)
def test_a_hold_is_resolved_once_and_for_good(cli: Cli, lived_in: Occurrence, outcome: str, state: str) -> None:
    assert cli.json(*resolve(lived_in, outcome)) == {
        "schedule_id": "docs",
        "tick_ms": lived_in.tick_ms,
        "state": state,
        "catch_up_tick_ms": None,
        "catch_up": None,
        "replayed": False,
    }
    assert cli.json(*resolve(lived_in, outcome))["replayed"]
    other = "abandoned" if outcome == "committed" else "committed"
    said = cli.refusal(*resolve(lived_in, other))
    assert f"was resolved differently already ({outcome} by ann): " in said
    waits = "attempt 2 is waiting to run" if state == "PENDING" else f"it ended as {state}"
    assert said.endswith(f"{waits}; nothing is held")
    assert cli.text("holds") == "nothing is held, and no run waits to be approved\n"


@pytest.mark.parametrize("since", ["nothing", "deleted", "deleted and written anew"])
def test_a_hold_and_its_resolution_say_when_no_attempt_follows_because_the_schedule_was_deleted(
    cli: Cli, bench: Bench, lived_in: Occurrence, since: str
) -> None:
    deleted = since != "nothing"
    if deleted:
        cli("schedule", "delete", "docs", "--yes")
    if since == "deleted and written anew":
        bench.add(schedule_id="docs")
    offered = "so that no attempt follows; with OUTCOME committed or abandoned"
    assert (offered in " ".join(cli.text("holds").split())) is deleted
    assert (offered in " ".join(cli.text("occurrence", str(lived_in)).split())) is deleted
    assert cli.json("holds")["holds"][0]["schedule_deleted"] is deleted
    said = cli.text(*resolve(lived_in, "no-committed-result"))
    assert ("none will be made: its schedule was deleted" in said) is deleted


def test_a_different_resolution_while_another_attempt_runs_says_that_nothing_is_held(
    cli: Cli, bench: Bench, lived_in: Occurrence
) -> None:
    cli.json(*resolve(lived_in, "no-committed-result"))
    bench.running(lived_in, attempt=2)
    said = cli.refusal(*resolve(lived_in, "committed"))
    assert said.endswith("(no-committed-result by ann): attempt 2 is running; nothing is held")


def test_an_earlier_resolution_is_told_from_the_hold_that_stands(cli: Cli, bench: Bench, lived_in: Occurrence) -> None:
    name = str(lived_in)
    assert "resolved" not in cli.text("occurrence", name).replace("hold resolve", "")
    cli.json(*resolve(lived_in, "no-committed-result"))
    bench.running(lived_in, attempt=2)
    assert "lease ends" in cli.text("occurrence", name)
    bench.expire(lived_in)
    bench.sweep()
    said = cli.text("occurrence", name)
    assert "earlier hold resolved  no-committed-result by ann" in said
    cli.json(*resolve(lived_in, "committed"))
    said = cli.text("occurrence", name)
    assert "earlier hold" not in said
    assert "lease ends" not in said
    assert "lease owner" not in said


def test_an_occurrence_can_be_named_as_the_logs_name_it(cli: Cli, lived_in: Occurrence) -> None:
    assert cli.json("occurrence", str(lived_in)) == cli.json("occurrence", "docs", str(lived_in.tick_ms))
    assert cli.json("occurrence", "docs@2026-01-01T00:01:00Z")["tick_ms"] == lived_in.tick_ms
    assert "Name the tick too" in cli.refusal("occurrence", "docs", code=2)
    words = ["--outcome", "committed", "--by", "ann", "--evidence", "e"]
    assert cli.json("hold", "resolve", str(lived_in), *words)["schedule_id"] == "docs"


def test_a_spent_budget_needs_extra_attempts(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000", retry_budget=1)
    occurrence = bench.due("x")
    bench.running(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    assert "allow more with --extra-attempts" in cli.refusal(*resolve(occurrence, "no-committed-result"))
    assert cli.json(*resolve(occurrence, "no-committed-result", "--extra-attempts", "1"))["state"] == "PENDING"


def test_a_tick_can_be_given_as_an_instant(cli: Cli, lived_in: Occurrence) -> None:
    by_instant = cli.json("occurrence", "docs", "2026-01-01T00:01:00Z")
    assert by_instant == cli.json("occurrence", "docs", str(lived_in.tick_ms))


def test_a_held_occurrence_is_shown_with_what_would_release_it(cli: Cli, lived_in: Occurrence) -> None:
    shown = cli.json("occurrence", "docs", str(lived_in.tick_ms))
    assert shown["state"] == "HELD"
    assert shown["released_by"].startswith("its reviewer")
    assert [event["event"] for event in shown["timeline"]] == ["enqueued", "acquired", "began", "held"]
    assert "duly hold resolve" in cli.text("occurrence", "docs", str(lived_in.tick_ms))


def test_every_state_is_told_in_words(cli: Cli, bench: Bench) -> None:
    def told(occurrence: Occurrence) -> str:
        shown = cli.json("occurrence", "x", str(occurrence.tick_ms))
        return f"{shown['state']}: {shown['explanation']}; {shown['released_by']}"

    bench.add(schedule_id="x", spec="@every:60000", lease_ttl_ms=5_000)
    tick = bench.due("x")
    assert told(tick) == (
        "PENDING: waits for a worker on queue 'default'; "
        "a worker that listens on queue 'default' and knows task 'docs.refresh'"
    )
    lease = bench.lease(tick)
    assert told(tick) == (
        "LEASED: claimed by w@1; the work has not begun; "
        "its worker; otherwise its lease ends at 2026-01-01T00:01:05Z (in 5 s) and it is pending again"
    )
    bench.begin(lease, Effects.UNSAFE)
    assert told(tick).endswith("its lease ends at 2026-01-01T00:01:05Z (in 5 s) and it is held")
    bench.store.attempts.fail(lease, "ValueError")
    assert told(tick).startswith("RETRY_WAIT: attempt 1 of 3 failed; waits for the next; its backoff ends at")
    cli.json("schedule", "delete", "x")
    bench.pass_time(1_000)
    bench.sweep()
    assert "CANCELLED: not run: its schedule was deleted; None" in told(tick)


@pytest.mark.parametrize("usable", [True, False])
def test_a_pending_occurrence_behind_a_hold_says_so_also_where_its_schedule_cannot_be_used(
    cli: Cli, bench: Bench, lived_in: Occurrence, usable: bool
) -> None:
    bench.add(schedule_id="x", spec="@every:60000", overlap="allow")
    first = bench.due("x")
    bench.running(first)
    second = bench.due("x")
    bench.expire(first)
    bench.sweep()
    if not usable:
        bench.backend.client.hset(bench.store.keys.schedule("x"), "definition", "{}")
    shown = cli.json("occurrence", "x", str(second.tick_ms))
    assert shown["released_by"].startswith("the reviewer of 1 hold of its schedule (duly holds)")


def test_a_dropped_tick_is_found_in_the_audit_trail(cli: Cli, lived_in: Occurrence) -> None:
    shown = cli.json("occurrence", "feed", "2026-01-01T00:30:00Z")
    assert not shown["on_record"]
    assert "with 59 ticks, 2026-01-01T00:02:00Z to 2026-01-01T01:00:00Z" in shown["explanation"]
    assert shown["events"][0]["reason"] == "backlog_dropped"


def test_a_skipped_tick_is_found_in_the_audit_trail(cli: Cli, lived_in: Occurrence) -> None:
    shown = cli.json("occurrence", "docs", "2026-01-01T01:01:00Z")
    assert shown["explanation"].startswith("skipped: an earlier occurrence was held")


def test_an_expired_record_still_has_its_history(cli: Cli, bench: Bench, lived_in: Occurrence) -> None:
    bench.backend.client.delete(bench.store.keys.occurrence(Occurrence("feed", lived_in.tick_ms)))
    shown = cli.json("occurrence", "feed", str(lived_in.tick_ms))
    assert shown["explanation"] == "it ended as SUCCEEDED; its record has expired, its history has not"
    bench.backend.client.delete(bench.store.keys.runs("feed"))
    shown = cli.json("occurrence", "feed", str(lived_in.tick_ms))
    assert shown["explanation"].endswith("its record has expired since")


@pytest.mark.parametrize(("field", "value"), [("definition", "{}"), ("carry", "[["), ("updated_ms", "x")])
def test_what_is_on_record_of_an_unusable_schedule_is_told_as_before(
    cli: Cli, bench: Bench, lived_in: Occurrence, field: str, value: str
) -> None:
    expired = Occurrence("feed", lived_in.tick_ms)
    bench.backend.client.delete(bench.store.keys.occurrence(expired))
    pending = Occurrence("feed", lived_in.tick_ms + 60 * MINUTE)
    asked = [
        ("occurrence", str(lived_in)),
        ("occurrence", "docs", "2026-01-01T01:01:00Z"),
        ("occurrence", "feed", "2026-01-01T00:30:00Z"),
        ("occurrence", str(expired)),
        ("recompute", str(lived_in)),
        *(("events", "docs"), ("runs", "docs"), ("runs",), ("holds",), ("fleet",)),
    ]
    before = [cli.json(*words) for words in asked]
    for schedule_id in ("docs", "feed"):
        bench.backend.client.hset(bench.store.keys.schedule(schedule_id), field, value)
    assert [cli.json(*words) for words in asked] == before
    assert cli.json("occurrence", str(pending))["state"] == "PENDING"
    assert "is stored in a form that cannot be used" in cli.refusal("occurrence", "docs", "2026-02-01T00:00:00Z")


def test_a_tick_ahead_is_told_from_one_that_is_none(cli: Cli, bench: Bench) -> None:
    cli.json("schedule", "add", "x", *ADD)

    def told(tick: str) -> str:
        return str(cli.json("occurrence", "x", tick)["explanation"])

    assert told("2026-01-01T00:01:00Z") == "the next run of the schedule, due in 1 min"
    assert told("2026-01-01T00:05:00Z") == "a tick of the schedule, due in 5 min, after the next run"
    assert "is no tick of '@every:60000'" in cli.refusal("occurrence", "x", "2026-01-01T00:01:01Z")
    assert "written after it" in cli.refusal("occurrence", "x", "2025-12-31T00:00:00Z")
    bench.pass_time(2 * MINUTE)
    assert told("2026-01-01T00:02:00Z").startswith("due, and not yet swept")
    cli.json("schedule", "update", "x", "--spec", "@every:7000")
    assert told("2026-01-01T00:02:00Z").startswith("due under an earlier definition")
    cli.json("schedule", "pause", "x", "--note", "why")
    assert told("2026-01-01T00:03:02Z") == "not due: the schedule is paused (why)"


def test_the_fleet_shows_the_duty_and_the_processes(cli: Cli, lived_in: Occurrence) -> None:
    said = cli.text("fleet")
    assert "tester.s since 2026-01-01T01:01:00Z" in said
    assert "host-1.1" in said
    shown = cli.json("fleet")
    assert (shown["holds"], shown["schedules"], len(shown["workers"])) == (1, 4, 2)


def test_the_fleet_lists_the_tasks_of_a_worker_as_words(cli: Cli, bench: Bench) -> None:
    bench.store.fleet.beat("w.1", {"role": "worker", "queues": ["default"], "tasks": ["a.b", "c"], "pid": 1})
    assert "queues default, tasks a.b c, pid 1" in squeezed(cli.text("fleet", COLUMNS="160"))
