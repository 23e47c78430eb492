"""Schedules from a file, and back into one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.common.cli.schedule.schedule_file import read_text
from duly.common.cli.schedule.toml_text import write_schedules
from duly.common.errors import StoreUnavailable
from duly.common.records.definition import define
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store.schedules import ScheduleStore
from tests.acceptance.conftest import ADD, HOSTILE, Cli
from tests.store.conftest import Bench

TWO = """
[[schedule]]
schedule_id = "a"
spec = "@every:60000"
task = "t"
missed_run_policy = "skip"
review_owner = "ann"

[[schedule]]
schedule_id = "b"
spec = "0 9 * * *"
task = "t"
missed_run_policy = "backfill"
backfill_limit = 3
review_owner = "ann"
state = "paused"
note = "not yet"
[schedule.kwargs]
path = "docs"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "schedules.toml"
    made.write_text(TWO, "utf-8")
    return made


def actions(payload: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["schedule_id"], step["action"]) for step in payload["plan"]]


def test_a_file_creates_what_it_names(cli: Cli, file: Path) -> None:
    assert actions(cli.json("schedule", "sync", str(file))) == [("a", "create"), ("b", "create")]
    b = cli.json("schedule", "show", "b")
    assert (b["state"], b["note"], b["kwargs"], b["backfill_limit"]) == ("paused", "not yet", {"path": "docs"}, 3)


def test_the_same_file_again_changes_nothing(cli: Cli, file: Path) -> None:
    cli.json("schedule", "sync", str(file))
    again = cli.json("schedule", "sync", str(file))
    assert (again["unchanged"], again["created"], again["updated"]) == (2, 0, 0)
    assert cli.json("schedule", "show", "a")["revision"] == 1


def test_a_dry_run_only_shows_the_plan(cli: Cli, file: Path) -> None:
    assert cli.json("schedule", "sync", str(file), "--dry-run")["created"] == 2
    assert cli.json("schedule", "list")["schedules"] == []
    assert "nothing was changed" in cli.text("schedule", "sync", str(file), "--dry-run")


def test_a_changed_field_is_named_in_the_plan(cli: Cli, file: Path) -> None:
    cli.json("schedule", "sync", str(file))
    file.write_text(TWO.replace('state = "paused"\nnote = "not yet"', 'state = "active"\nqueue = "q"'), "utf-8")
    assert cli.json("schedule", "sync", str(file))["plan"][1]["changed"] == ["queue", "state"]
    b = cli.json("schedule", "show", "b")
    assert (b["state"], b["queue"]) == ("active", "q")


def test_a_field_left_out_of_the_file_goes_back_to_its_default(cli: Cli, file: Path) -> None:
    cli.json("schedule", "add", "a", *ADD, "--queue", "slow")
    cli.json("schedule", "sync", str(file))
    assert cli.json("schedule", "show", "a")["queue"] == "default"


def test_a_state_left_out_of_the_file_stays(cli: Cli, file: Path) -> None:
    cli.json("schedule", "sync", str(file))
    cli.json("schedule", "pause", "a", "--note", "by hand")
    assert cli.json("schedule", "sync", str(file))["unchanged"] == 2


def test_a_file_may_change_the_model_where_it_states_what_depends_on_it(cli: Cli, file: Path) -> None:
    cli.json("schedule", "sync", str(file))
    stated = "\njitter_window_ms = 0\nlease_ttl_ms = 9000\nretry_budget = 2\nbackoff = {base_ms = 10}\nspec ="
    turned = TWO.replace("@every:60000", "0 7 * * *").replace("0 9 * * *", "@every:60000")
    file.write_text(turned.replace("\nspec =", stated), "utf-8")
    assert cli.json("schedule", "sync", str(file))["updated"] == 2
    assert cli.json("schedule", "show", "a")["retry_budget"] == 2


def test_only_prune_deletes_what_the_file_does_not_name(cli: Cli, file: Path) -> None:
    cli.json("schedule", "add", "other", *ADD)
    assert cli.json("schedule", "sync", str(file))["deleted"] == 0
    assert actions(cli.json("schedule", "sync", str(file), "--prune"))[-1] == ("other", "delete")
    assert cli.refusal("schedule", "show", "other") == "no schedule 'other'"


def test_pruning_with_an_empty_file_needs_to_be_meant(cli: Cli, file: Path) -> None:
    cli.json("schedule", "sync", str(file))
    file.write_text("", "utf-8")
    assert "add --yes" in cli.refusal("schedule", "sync", str(file), "--prune")
    assert cli.json("schedule", "sync", str(file), "--prune", "--yes")["deleted"] == 2


def test_one_bad_schedule_keeps_the_whole_file_from_being_applied(cli: Cli, file: Path) -> None:
    file.write_text(TWO.replace('"0 9 * * *"', '"0 99 * * *"') + '[[schedule]]\nschedule_id = "c"\n', "utf-8")
    said = cli.refusal("schedule", "sync", str(file))
    assert said.startswith("schedule 'b': spec.hour:")
    assert said.endswith("(1 more schedule at fault)")
    assert cli.json("schedule", "list")["schedules"] == []


def test_the_field_at_fault_is_named_in_json_too(cli: Cli, file: Path) -> None:
    file.write_text(TWO.replace("backfill_limit = 3\n", ""), "utf-8")
    error = json.loads(cli("schedule", "sync", str(file), "--json").stderr)["error"]
    assert (error["code"], error["field"]) == ("invalid_file", "backfill_limit")


def test_a_failure_midway_says_what_was_applied(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ScheduleStore.add

    def failing(self: ScheduleStore, definition: Any, **options: Any) -> ScheduleRecord:
        if definition.schedule_id == "b":
            raise StoreUnavailable("Redis cannot be reached")
        return real(self, definition, **options)

    monkeypatch.setattr(ScheduleStore, "add", failing)
    result = cli("schedule", "sync", str(file), "--json")
    error = json.loads(result.stderr)["error"]
    assert (result.exit_code, result.stdout) == (1, "")
    assert (error["applied"], error["not_applied"], error["cause"]) == (["a"], ["b"], "store_unavailable")
    assert "applied 1 of 2 changes (a), not applied: b" in error["message"]


def test_a_schedule_changed_meanwhile_stops_the_sync(
    cli: Cli, file: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.json("schedule", "add", "a", *ADD, "--queue", "slow")
    real = ScheduleStore.page

    def page(self: ScheduleStore, *args: Any) -> Any:
        seen = real(self, *args)
        bench.store.schedules.update("a", {"queue": "other"})
        return seen

    monkeypatch.setattr(ScheduleStore, "page", page)
    result = cli("schedule", "sync", str(file))
    assert result.exit_code == 1
    assert "stopped at schedule 'a'" in result.stderr


def test_the_file_can_come_from_standard_input(cli: Cli) -> None:
    assert "2 created" in cli("schedule", "sync", "-", stdin=TWO).stdout


def test_a_pause_whose_end_has_passed_is_no_pause(cli: Cli, file: Path) -> None:
    file.write_text(TWO.replace('note = "not yet"', 'note = "x"\npaused_until = 2020-01-01T00:00:00Z'), "utf-8")
    cli.json("schedule", "sync", str(file))
    assert cli.json("schedule", "show", "b")["state"] == "active"


def test_an_export_is_read_back_as_unchanged(cli: Cli, bench: Bench, lived_in: object, tmp_path: Path) -> None:
    bench.add(schedule_id="odd", spec="0 9 * * *", kwargs={"n": None, "big": 2**80, "'": "\ud800", "": [1.5, -0.0]})
    bench.add(schedule_id="full", max_lateness_ms=5, start_at="2027-01-01T00:00:00Z", args=[[], {}, True, "\x7f\n"])
    bench.store.schedules.pause("full", "n", bench.store.schedules.now_ms() + 60_000)
    target = tmp_path / "out.toml"
    assert "wrote 6 schedules" in cli.text("schedule", "export", "--output", str(target))
    assert target.read_text("utf-8") == cli.text("schedule", "export")
    synced = cli.json("schedule", "sync", str(target), "--prune")
    assert synced["unchanged"] == 6
    assert synced["plan"] == [
        {"schedule_id": step["schedule_id"], "action": "unchanged", "changed": []} for step in synced["plan"]
    ]


def test_an_export_as_json_names_the_same_schedules(cli: Cli, lived_in: object) -> None:
    shown = cli.json("schedule", "export")["schedules"]
    assert [each["schedule_id"] for each in shown] == ["a" * 64, "docs", "feed", "paused"]
    assert shown[1]["review_owner"] == HOSTILE


def test_an_export_that_cannot_be_written_leaves_nothing_behind(cli: Cli, tmp_path: Path) -> None:
    assert "cannot write" in cli.refusal("schedule", "export", "-o", str(tmp_path / "no" / "out.toml"))
    (tmp_path / "folder").mkdir()
    assert "cannot write" in cli.refusal("schedule", "export", "-o", str(tmp_path / "folder"))
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(args=st.lists(values, max_size=3), kwargs=st.dictionaries(st.text(), values, max_size=3))
def test_any_arguments_survive_the_file(args: list[Any], kwargs: dict[str, Any]) -> None:
    definition = define(
        {
            "schedule_id": "x",
            "spec": "0 9 * * *",
            "task": "t",
            "missed_run_policy": "skip",
            "review_owner": "ann",
            "args": args,
            "kwargs": kwargs,
        }
    )
    record = ScheduleRecord(definition, 1, 1, "1", ScheduleState.ACTIVE, "", None, None, None, None, 0, 0, 0)
    (entry,) = read_text("".join(write_schedules([record])))
    assert entry.definition.to_json() == definition.to_json()
