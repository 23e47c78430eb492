"""`duly schedule changes`."""

from __future__ import annotations

import getpass

from tests.acceptance.conftest import ADD, HOSTILE, Cli
from tests.store.conftest import Bench


def test_changes_say_who_did_what(cli: Cli) -> None:
    cli.json("schedule", "add", "x", *ADD)
    cli.json("schedule", "update", "x", "--retry-budget", "7", "--kwargs", '{"token": "sekret"}')
    cli.json("schedule", "pause", "x", "--note", HOSTILE)
    cli.json("schedule", "delete", "x", "--yes")
    told = cli.json("schedule", "changes", "x")["changes"]
    assert [each["what"] for each in told] == ["deleted", "paused", "updated", "created"]
    assert all(each["actor"].startswith(f"cli {getpass.getuser()}@") for each in told)
    said = cli.text("schedule", "changes", "x")
    assert "retry_budget: 3 -> 7" in said
    assert "kwargs" in said
    assert "sekret" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_changes_come_in_pages(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    for n in range(4):
        bench.store.schedules.update("x", {"retry_budget": n + 4})
    first = cli.json("schedule", "changes", "x", "--limit", "3")
    rest = cli.json("schedule", "changes", "x", "--limit", "3", "--cursor", first["next_cursor"])
    assert [each["revision"] for each in first["changes"] + rest["changes"]] == [5, 4, 3, 2, 1]
    assert "no schedule 'y'" in cli.refusal("schedule", "changes", "y")
