"""When it does not work: one line, the right exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from duly.common.identity import Occurrence
from duly.common.settings import Settings
from duly.common.store.schedules import ScheduleStore
from tests import servers
from tests.acceptance.conftest import ADD, Cli
from tests.conftest import Backend

COMMANDS = [
    ["schedule", "list"],
    ["schedule", "show", "x"],
    ["schedule", "add", "x", *ADD],
    ["schedule", "update", "x", "--queue", "q"],
    ["schedule", "pause", "x", "--note", "n"],
    ["schedule", "resume", "x"],
    ["schedule", "delete", "x"],
    ["schedule", "preview", "x"],
    ["schedule", "export"],
    ["run", "x", "--idempotency-key", "k"],
    ["events", "x"],
    ["runs"],
    ["runs", "--follow"],
    ["occurrence", "x", "1"],
    ["holds"],
    ["hold", "resolve", "x", "1", "--outcome", "abandoned", "--by", "a", "--evidence", "e"],
    ["fleet"],
    ["scheduler"],
    ["worker", "-m", "json"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_unreachable_redis_is_one_line(command: list[str], unreachable_url: str) -> None:
    said = Cli().refusal(*command, "--redis-url", unreachable_url)
    address = unreachable_url.removeprefix("redis://")
    assert said == f"Redis cannot be reached; is it running, and is --redis-url right? (tried {address})"


def test_an_unreachable_redis_that_nobody_named_says_so_and_names_a_way_out(
    unreachable_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "from_environment", lambda: Settings(redis_url=unreachable_url))
    said = Cli().refusal("holds")
    assert said.endswith("as neither --redis-url nor DULY_REDIS_URL is given; 'duly up' brings its own store)")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://ann:secret@127.0.0.1:{port}/3", "127.0.0.1:{port}/3"),
        ("redis://:secret@127.0.0.1:{port}?db=4", "127.0.0.1:{port}/4"),
        ("redis://[::1]:{port}", "[::1]:{port}/0"),
        ("rediss://127.0.0.1:{port}", "127.0.0.1:{port}/0 with TLS"),
        ("unix://ann:secret@/nowhere/redis.sock?db=2", "/nowhere/redis.sock database 2"),
    ],
)
def test_the_address_that_was_tried_is_named_without_credentials(url: str, address: str, unreachable_url: str) -> None:
    port = unreachable_url.rpartition(":")[2].partition("/")[0]
    for command in ("holds", "worker -m json"):
        said = Cli().refusal(*command.split(), "--redis-url", url.format(port=port))
        assert said.endswith(f"(tried {address.format(port=port)})")
        assert "secret" not in said


def test_the_doctor_names_the_address_it_tried(unreachable_url: str) -> None:
    checks = json.loads(Cli()("doctor", "--json", "--redis-url", unreachable_url).stdout)["checks"]
    assert checks[0]["detail"].endswith(f"(tried {unreachable_url.removeprefix('redis://')})")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("shedule list", "No such command 'shedule'; did you mean 'schedule'? (see 'duly --help')"),
        ("schedule lst", "No such command 'lst'; did you mean 'list'? (see 'duly schedule --help')"),
        ("zzz", "No such command 'zzz' (see 'duly --help')"),
    ],
)
def test_a_mistyped_command_is_told_what_is_close_to_it(cli: Cli, typed: str, said: str) -> None:
    assert cli.refusal(*typed.split(), code=2) == said


def test_a_mistyped_schedule_is_told_what_is_close_to_it(cli: Cli, lived_in: Occurrence) -> None:
    for command in (["schedule", "show", "dosc"], ["runs", "dosc"], ["events", "dosc"]):
        assert cli.refusal(*command) == "no schedule 'dosc'; did you mean 'docs'?"
    assert cli.refusal("schedule", "show", "zzz") == "no schedule 'zzz'"


def test_an_unreachable_redis_has_a_code_in_json(unreachable_url: str) -> None:
    result = Cli()("--json", "holds", DULY_REDIS_URL=unreachable_url)
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["error"]["code"] == "store_unavailable"


@pytest.fixture
def replica(valkey: Backend, tmp_path: Path) -> Iterator[str]:
    """The URL of a read-only copy of the server."""
    valkey.client.config_set("repl-diskless-sync-delay", 0)
    port = valkey.client.connection_pool.connection_kwargs["port"]
    with servers.running(servers.valkey_binary(), tmp_path, "--replicaof", f"127.0.0.1 {port}") as replica_port:
        with redis.Redis(port=replica_port) as client:
            while client.info("replication")["master_link_status"] != "up":
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{replica_port}/0"


@pytest.mark.server
def test_a_read_only_replica_refuses_changes_and_shows_what_it_has(valkey: Backend, replica: str) -> None:
    said = Cli().refusal("schedule", "add", "x", *ADD, "--redis-url", replica)
    assert said == "this Redis is a read-only replica; point --redis-url at the primary"
    assert Cli().json("schedule", "list", "--redis-url", replica)["schedules"] == []
    checks = json.loads(Cli()("doctor", "--json", "--redis-url", replica).stdout)
    assert {c["name"]: c["status"] for c in checks["checks"]}["role"] == "fail"


def test_a_run_of_a_quarantined_schedule_is_a_hold(cli: Cli, lived_in: Occurrence) -> None:
    said = cli.refusal("run", "docs", "--idempotency-key", "k", code=3)
    assert said == "schedule 'docs' is quarantined: resolve its holds first (duly holds)"
    error = json.loads(cli("run", "docs", "--idempotency-key", "k", "--json").stderr)["error"]
    assert error["code"] == "held"


def test_a_usage_error_is_json_too_when_json_was_asked_for(cli: Cli) -> None:
    result = cli("schedule", "list", "--limit", "0", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert json.loads(result.stderr)["error"]["code"] == "usage"


def test_a_field_at_fault_is_named_in_json(cli: Cli) -> None:
    result = cli("schedule", "add", "x", *ADD, "--queue", "a b", "--json")
    assert json.loads(result.stderr) == {
        "error": {
            "code": "invalid_field",
            "message": "queue: must be 1-64 letters, digits, '_', '.' and '-'",
            "field": "queue",
        }
    }


def test_a_command_without_a_command_shows_the_help(cli: Cli) -> None:
    result = cli()
    assert result.exit_code == 2
    assert "Commands:" in result.output


def test_a_command_that_is_not_installed_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from duly.common.cli.lazy import Entry
    from duly.common.cli.root import COMMANDS as TABLE

    monkeypatch.setitem(TABLE, "demo", Entry("duly.common.cli.nothing_here:demo", "x"))
    assert "is not part of this installation" in cli.refusal("demo", code=2)
    assert "demo" in cli.text("--help")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def page(self: ScheduleStore, *args: Any) -> Any:
        raise ZeroDivisionError("secret\npayload")

    monkeypatch.setattr(ScheduleStore, "page", page)
    return monkeypatch


def test_an_unforeseen_error_is_one_line_with_its_class(cli: Cli, broken: pytest.MonkeyPatch) -> None:
    said = cli.refusal("schedule", "list")
    assert said == "unexpected ZeroDivisionError; run it again with DULY_DEBUG=1 for the details"


def test_an_unforeseen_error_can_be_looked_into(cli: Cli, broken: pytest.MonkeyPatch) -> None:
    result = cli("schedule", "list", DULY_DEBUG="1")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("duly: unexpected")


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)])
def test_an_interrupt_and_a_closed_pipe_are_quiet(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int
) -> None:
    def page(self: ScheduleStore, *args: Any) -> Any:
        raise error

    monkeypatch.setattr(ScheduleStore, "page", page)
    result = cli("schedule", "list")
    assert (result.exit_code, result.output.strip()) == (code, "")


def test_a_setting_that_cannot_be_used_is_named(cli: Cli) -> None:
    assert "DULY_RETENTION_MS" in Cli().refusal("holds", DULY_RETENTION_MS="never")


def test_the_nearest_redis_url_counts(unreachable_url: str) -> None:
    said = Cli().refusal("--redis-url", unreachable_url, "holds", "--redis-url", "nonsense", DULY_REDIS_URL="redis://x")
    assert said.startswith("--redis-url: must start with")


def test_the_version_is_known(cli: Cli) -> None:
    assert cli.text("--version").startswith("duly, version ")


def test_the_program_itself_ends_quietly_when_its_reader_goes_away(unreachable_url: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from duly.common.cli import main; main()"]
    ended = subprocess.run(
        [*command, "schedule", "preview", "@every:1000", "--count", "1000"], stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_help_starts_no_store_library() -> None:
    """Help and completion stay quick: what they do not need is not imported."""
    code = (
        "import sys; sys.argv = ['duly', '--help']\n"
        "from duly.common.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print({'redis', 'rq', 'rich', 'pydantic'} & set(sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == "set()"
