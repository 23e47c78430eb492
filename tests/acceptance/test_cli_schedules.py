"""Schedules from the command line: written, looked at, edited, paused, resumed and deleted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from duly.common.identity import Occurrence
from tests.acceptance.conftest import ADD, Cli
from tests.store.conftest import Bench


def test_a_schedule_is_added_with_the_fields_that_were_given(cli: Cli) -> None:
    made = cli.json("schedule", "add", "docs", *ADD, "--kwargs", '{"path": "docs"}', "--backoff-base-ms", "5000")
    assert made["kwargs"] == {"path": "docs"}
    assert made["backoff"] == {"base_ms": 5000, "factor": 2.0, "max_ms": 300_000}
    assert (made["revision"], made["next_run_at"]) == (1, "2026-01-01T00:01:00Z")
    assert cli.json("schedule", "show", "docs") == made


def test_every_field_of_a_schedule_is_an_option(cli: Cli) -> None:
    given = {
        "spec": "CRON_TZ=Europe/Paris 0 9 * * *",
        "task": "t.x",
        "args": [1, "a"],
        "kwargs": {"k": None},
        "queue": "slow",
        "missed_run_policy": "backfill",
        "backfill_limit": 7,
        "max_lateness_ms": 1000,
        "jitter_window_ms": 10,
        "overlap": "buffer_one",
        "lease_ttl_ms": 3000,
        "timeout_ms": 4000,
        "retry_budget": 5,
        "backoff": {"base_ms": 1, "factor": 3.0, "max_ms": 9},
        "review_owner": "Ann",
        "approval": "automatic",
        "start_at": "2026-02-01T00:00:00Z",
        "end_at": "2027-02-01T00:00:00Z",
    }
    options = [
        word
        for name, value in given.items()
        for word in (f"--{name.replace('_', '-')}", value if isinstance(value, str) else json.dumps(value))
    ]
    made = cli.json("schedule", "add", "all", *options)
    assert {name: made[name] for name in given} == given


def test_every_option_is_also_an_environment_variable(cli: Cli) -> None:
    environment = {
        "DULY_SCHEDULE_ADD_SPEC": "@every:5000",
        "DULY_SCHEDULE_ADD_TASK": "t",
        "DULY_SCHEDULE_ADD_MISSED_RUN_POLICY": "skip",
        "DULY_SCHEDULE_ADD_REVIEW_OWNER": "ann",
        "DULY_SCHEDULE_ADD_LEASE_TTL_MS": "2000",
        "DULY_JSON": "1",
    }
    assert json.loads(cli("schedule", "add", "x", **environment).stdout)["lease_ttl_ms"] == 2000


@pytest.mark.parametrize("field", ["spec", "task", "missed_run_policy", "review_owner"])
def test_a_missing_required_field_is_named_in_one_line(cli: Cli, field: str) -> None:
    at = ADD.index(f"--{field.replace('_', '-')}")
    assert f"{field}: is required" in cli.refusal("schedule", "add", "x", *ADD[:at], *ADD[at + 2 :])


def test_all_missing_required_fields_are_named_in_one_line(cli: Cli) -> None:
    assert cli.refusal("schedule", "add", "x", "--task", "t") == (
        "spec: is required, and so are missed_run_policy (skip, run_once or backfill), "
        "review_owner (who answers for holds)"
    )


def test_help_says_required_and_default_only_where_it_is_true(cli: Cli) -> None:
    added, updated = cli.text("schedule", "add", "--help"), cli.text("schedule", "update", "--help")
    assert added.count("Required.") == 4
    assert "(default" in added
    assert "Required." not in updated
    assert "(default" not in updated


def test_an_empty_review_owner_is_refused_in_our_words(cli: Cli) -> None:
    said = cli.refusal("schedule", "add", "x", *ADD, "--review-owner", "")
    assert said == "review_owner: must have at least 1 character: name who answers for occurrences that are held"


def test_no_events_are_nothing_to_worry_about_unless_nobody_holds_the_duty(cli: Cli, bench: Bench) -> None:
    cli("schedule", "add", "x", *ADD, "--spec", "@every:1000")
    bench.store.sweeping.release_duty(bench.token)
    assert cli.text("events", "x").strip() == "no events yet: no tick of this schedule has come due"
    bench.pass_time(5_000)
    said = " ".join(cli.text("events", "x").split())
    assert said == "no events yet: ticks are overdue, and nobody holds the duty: start a worker or 'duly scheduler'"
    bench.take_duty()
    assert "no tick of this schedule has come due" in " ".join(cli.text("events", "x").split())


def beat(bench: Bench, name: str, queues: list[str], tasks: list[str] | None = None) -> None:
    told = {} if tasks is None else {"tasks": tasks}
    bench.store.fleet.beat(name, {"role": "worker", "state": "idle", "queues": queues, **told})


def test_a_task_that_no_running_worker_knows_is_noted_and_the_schedule_is_there(cli: Cli, bench: Bench) -> None:
    beat(bench, "w.1", ["default"], ["docs.refresh", "docs.publish"])
    wrong = [*ADD, "--task", "docs.refersh"]
    result = cli("schedule", "add", "x", *wrong)
    note = "no running worker knows task 'docs.refersh' (known: docs.refresh, docs.publish)"
    assert (result.exit_code, result.stderr) == (0, f"note: {note}\n")
    assert note in " ".join(cli.text("schedule", "show", "x").split())
    assert cli.json("schedule", "add", "y", *wrong)["task"] == "docs.refersh"
    assert cli("schedule", "update", "x", "--task", "docs.refresh").stderr == ""
    assert cli("schedule", "update", "x", "--task", "other").stderr.startswith("note: no running worker knows")


def test_a_queue_that_no_running_worker_listens_on_is_noted(cli: Cli, bench: Bench) -> None:
    beat(bench, "w.1", ["default"], ["docs.refresh"])
    said = cli("schedule", "add", "x", *ADD, "--queue", "slow").stderr
    assert said == "note: no running worker listens on queue 'slow' (known: default)\n"
    beat(bench, "w.2", ["slow"], ["other"])
    said = cli("schedule", "add", "y", *ADD, "--queue", "slow").stderr
    assert said == "note: no running worker that listens on queue 'slow' knows task 'docs.refresh'\n"


def test_a_file_whose_schedules_no_running_worker_could_run_is_applied_and_noted(
    cli: Cli, bench: Bench, tmp_path: Path
) -> None:
    beat(bench, "w.1", ["default"], ["docs.refresh"])
    table = '[[schedule]]\nschedule_id = "s{}"\nspec = "@every:60000"\ntask = "{}"\nmissed_run_policy = "skip"\n'
    owner = 'review_owner = "ann"\n'
    file = tmp_path / "all.toml"
    file.write_text(
        "".join(table.format(number, "other") + owner for number in range(7)) + table.format(7, "docs.refresh") + owner
    )
    for options in (["--dry-run"], []):
        notes = cli("schedule", "sync", str(file), *options).stderr.splitlines()
        assert notes[0] == "note: schedule 's0': no running worker knows task 'other' (known: docs.refresh)"
        assert len(notes) == 6
        assert notes[-1] == "note: and so for 2 schedules more"
    assert cli("schedule", "sync", str(file)).stderr == ""


def test_nothing_is_noted_without_workers_or_with_one_that_does_not_say_its_tasks(cli: Cli, bench: Bench) -> None:
    bench.store.fleet.beat("w.s", {"role": "scheduler", "state": "holding"})
    assert cli("schedule", "add", "x", *ADD).stderr == ""
    beat(bench, "w.1", ["default"])
    assert cli("schedule", "add", "y", *ADD).stderr == ""


def test_the_next_run_of_a_paused_schedule_waits_for_its_resumption(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    cli.json("schedule", "pause", "x", "--note", "n")
    assert "next run          when resumed\n" in cli.text("schedule", "show", "x")
    assert "when resumed" in cli.text("schedule", "list")
    cli.json("schedule", "pause", "x", "--note", "n", "--until", "2026-01-02T00:00:00Z")
    assert "when its pause ends, 2026-01-02T00:00:00Z (in 1 d)" in cli.text("schedule", "show", "x")
    assert "2026-01-02T00:00:00Z" in cli.text("schedule", "list")


def test_deleting_a_schedule_says_which_holds_stay_open(cli: Cli, lived_in: Occurrence) -> None:
    assert "1 hold stays open: duly holds" in cli.text("schedule", "delete", "docs")
    assert "stays open" not in cli.text("schedule", "delete", "feed")


def test_an_export_names_its_file(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.text("schedule", "export", "-o", "s.toml") == "wrote 0 schedules to s.toml\n"


def test_a_schedule_that_is_there_is_not_added_again(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    assert cli.refusal("schedule", "add", "x", *ADD).endswith("use 'duly schedule update x'")


def test_an_update_changes_only_what_is_given(cli: Cli) -> None:
    before = cli.json("schedule", "add", "x", *ADD, "--queue", "slow", "--max-lateness-ms", "5")
    after = cli.json("schedule", "update", "x", "--retry-budget", "9")
    kept = {"retry_budget", "revision", "updated_at", "edit"}
    assert {k: v for k, v in after.items() if k not in kept} == {k: v for k, v in before.items() if k not in kept}
    assert (after["retry_budget"], after["revision"]) == (9, 2)


@pytest.mark.parametrize("words", [["--no-max-lateness"], ["--max-lateness-ms", "none"]])
def test_an_optional_field_can_be_unset(cli: Cli, words: list[str]) -> None:
    cli.json("schedule", "add", "x", *ADD, "--max-lateness-ms", "5")
    assert cli.json("schedule", "update", "x", *words)["max_lateness_ms"] is None


def test_bounds_can_be_unset(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD, "--start-at", "2027-01-01T00:00:00Z", "--end-at", "2028-01-01T00:00:00Z")
    after = cli.json("schedule", "update", "x", "--start-at", "none", "--no-end-at")
    assert (after["start_at"], after["end_at"], after["next_run_at"]) == (None, None, "2026-01-01T00:01:00Z")


def test_setting_and_clearing_a_field_at_once_is_a_usage_error(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    cli.refusal("schedule", "update", "x", "--no-end-at", "--end-at", "2028-01-01T00:00:00Z", code=2)


def test_one_part_of_the_backoff_keeps_the_others(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD, "--backoff", '{"base_ms": 10, "factor": 3, "max_ms": 50}')
    assert cli.json("schedule", "update", "x", "--backoff-max-ms", "90")["backoff"] == {
        "base_ms": 10,
        "factor": 3.0,
        "max_ms": 90,
    }


def test_an_update_says_which_due_ticks_it_carries_over(cli: Cli, bench: Bench) -> None:
    cli.json("schedule", "add", "x", *ADD)
    bench.pass_time(150_000)
    said = cli.text("schedule", "update", "x", "--spec", "@every:3600000")
    assert "2 ticks, 2026-01-01T00:01:00Z to 2026-01-01T00:02:00Z" in said
    assert "next run was  2026-01-01T00:01:00Z" in said
    assert "next run      2026-01-01T01:00:00Z" in said


def test_a_dry_run_shows_the_edit_and_changes_nothing(cli: Cli) -> None:
    before = cli.json("schedule", "add", "x", *ADD)
    foreseen = cli.json("schedule", "update", "x", "--spec", "@every:3600000", "--dry-run")
    assert cli.json("schedule", "show", "x") == before
    done = cli.json("schedule", "update", "x", "--spec", "@every:3600000")
    assert foreseen["edit"]["next_run_ms"] == done["edit"]["next_run_ms"] == done["next_run_ms"]
    assert foreseen["spec"] == done["spec"]


def test_a_stale_revision_changes_nothing(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    cli.json("schedule", "update", "x", "--queue", "slow")
    for command in (["update", "x", "--queue", "q"], ["update", "x", "--queue", "q", "--dry-run"], ["delete", "x"]):
        assert "was changed meanwhile" in cli.refusal("schedule", *command, "--revision", "1")


def test_a_change_of_the_model_must_be_restated(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    assert "must be stated again" in cli.refusal("schedule", "update", "x", "--spec", "0 9 * * *")


def test_a_pause_needs_a_note_and_a_resume_records_the_gap(cli: Cli, bench: Bench) -> None:
    cli.json("schedule", "add", "x", *ADD)
    cli.refusal("schedule", "pause", "x", code=2)
    paused = cli.json("schedule", "pause", "x", "--note", " a b ", "--until", "2026-01-02T00:00:00Z")
    assert (paused["state"], paused["note"], paused["paused_until"]) == ("paused", "a b", "2026-01-02T00:00:00Z")
    bench.pass_time(600_000)
    resumed = cli.json("schedule", "resume", "x", "--catch-up", "latest")
    assert (resumed["state"], resumed["edit"]["dropped"]["count"]) == ("active", 9)
    assert cli.json("events", "x")["events"][0]["reason"] == "backlog_dropped"


def test_resuming_what_is_not_paused_is_refused(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    assert cli.refusal("schedule", "resume", "x") == "schedule 'x' is not paused"


def test_a_delete_asks_nothing_where_there_is_no_terminal(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    assert cli.json("schedule", "delete", "x") == {"schedule_id": "x", "deleted": True}
    assert cli.refusal("schedule", "show", "x") == "no schedule 'x'"


def test_a_delete_on_a_terminal_asks_first(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("duly.common.cli.schedule.delete.sys", type("sys", (), {"stdin": Terminal()}))
    monkeypatch.setattr("click.confirm", lambda question, **_: asked.append(question))
    cli.json("schedule", "add", "x", *ADD)
    assert cli.refusal("schedule", "delete", "x") == "schedule 'x' was not deleted"
    assert asked == ["Delete schedule 'x'?"]
    assert cli.json("schedule", "delete", "x", "--yes")["deleted"]


@pytest.mark.parametrize(("field", "value"), [("definition", "{}"), ("carry", "[["), ("created_ms", "x")])
def test_an_unusable_schedule_is_deleted_by_the_command_that_its_error_names(
    cli: Cli, bench: Bench, field: str, value: str
) -> None:
    cli.json("schedule", "add", "bad", *ADD)
    bench.backend.client.hset(bench.store.keys.schedule("bad"), field, value)
    said = cli.refusal("schedule", "show", "bad")
    command = said.partition("'duly ")[2].partition("'")[0].split()
    assert command == ["schedule", "delete", "bad"]
    assert "was changed meanwhile" in cli.refusal(*command, "--revision", "2")
    assert cli.json(*command) == {"schedule_id": "bad", "deleted": True}
    assert cli.refusal("schedule", "show", "bad") == "no schedule 'bad'"


def test_an_unusable_schedule_leaves_its_holds_open_and_says_so(cli: Cli, bench: Bench, lived_in: Occurrence) -> None:
    bench.backend.client.hset(bench.store.keys.schedule("docs"), "definition", "{}")
    assert "1 hold stays open: duly holds" in cli.text("schedule", "delete", "docs")
    assert [hold["tick_ms"] for hold in cli.json("holds")["holds"]] == [lived_in.tick_ms]


def test_the_list_comes_in_pages_with_an_opaque_cursor(cli: Cli) -> None:
    for name in "edcba":
        cli.json("schedule", "add", name, *ADD)
    first = cli.json("schedule", "list", "--limit", "3")
    rest = cli.json("schedule", "list", "--limit", "3", "--cursor", first["next_cursor"])
    assert [each["schedule_id"] for each in first["schedules"] + rest["schedules"]] == list("abcde")
    assert rest["next_cursor"] is None
    assert f"--cursor {first['next_cursor']}" in cli.text("schedule", "list", "--limit", "3")


def test_an_empty_list_says_how_to_begin(cli: Cli) -> None:
    assert cli.text("schedule", "list").startswith("no schedules yet; add one with")


def test_a_preview_of_an_expression_needs_no_redis(unreachable_url: str) -> None:
    cli = Cli()
    after = ["--after", "2026-03-07T00:00:00Z", "--count", "2", "--redis-url", unreachable_url]
    assert cli.json("schedule", "preview", "CRON_TZ=America/New_York 30 2 * * *", *after) == {
        "spec": "CRON_TZ=America/New_York 30 2 * * *",
        "timezone": "America/New_York",
        "ticks": [
            {"tick_ms": 1772868600000, "utc": "2026-03-07T07:30:00Z", "local": "2026-03-07T02:30:00-05:00"},
            {"tick_ms": 1773037800000, "utc": "2026-03-09T06:30:00Z", "local": "2026-03-09T02:30:00-04:00"},
        ],
    }


def test_a_preview_marks_what_the_clocks_do(cli: Cli) -> None:
    spec = "CRON_TZ=America/New_York 30 1 * * *"
    said = cli.text("schedule", "preview", spec, "--after", "2026-10-31T12:00:00Z", "--count", "2")
    assert "-04:00   first of two" in said
    assert "-05:00   clocks back" in said


def test_a_preview_of_a_schedule_stays_inside_its_bounds(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD, "--end-at", "2026-01-01T00:02:00Z")
    assert [t["utc"] for t in cli.json("schedule", "preview", "x")["ticks"]] == [
        "2026-01-01T00:01:00Z",
        "2026-01-01T00:02:00Z",
    ]
    assert "no ticks after that instant" in cli.text("schedule", "preview", "x", "--after", "2026-02-01T00:00:00Z")
