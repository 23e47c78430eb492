"""What people and programs see: 80 columns, promised keys, and nothing that a terminal would obey."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from duly.common.cli import output, root
from duly.common.explain.text import duration, relative, safe
from duly.common.identity import Occurrence
from tests.acceptance.conftest import ADD, HOSTILE, Cli
from tests.store.conftest import Bench

SCHEDULE = {"schedule_id", "spec", "task", "missed_run_policy", "state", "revision", "next_run_at", "held"}
FILE = """
[[schedule]]
schedule_id = "new"
spec = "0 9 * * *"
task = "t"
missed_run_policy = "skip"
review_owner = "ann"
"""
# Each command with the keys that its JSON promises.
COMMANDS = {
    "schedule add new " + shlex.join(ADD): SCHEDULE,
    "schedule list": {"schedules", "next_cursor"},
    "schedule list --limit 2": {"schedules", "next_cursor"},
    "schedule show docs": SCHEDULE,
    "schedule show paused": SCHEDULE,
    "schedule show {long}": SCHEDULE,
    "schedule update docs --spec @every:120000 --retry-budget 5 --kwargs {{}}": SCHEDULE | {"edit"},
    "schedule update {long} --spec '@every:120000' --dry-run": SCHEDULE | {"edit"},
    "schedule pause {long} --note " + "'a long note, "  + "x" * 300 + "'": SCHEDULE,
    "schedule resume paused": SCHEDULE | {"edit"},
    "schedule resume paused --catch-up latest": SCHEDULE | {"edit"},
    "schedule delete {long}": {"schedule_id", "deleted"},
    "schedule preview 'CRON_TZ=America/Argentina/ComodRivadavia 0 9 * * *'": {"spec", "timezone", "ticks"},
    "schedule preview docs --count 3": {"spec", "timezone", "ticks"},
    "schedule sync {file} --prune": {"dry_run", "plan", "created", "updated", "deleted", "unchanged"},
    "schedule sync {file} --dry-run": {"dry_run", "plan", "created", "updated", "deleted", "unchanged"},
    "schedule export --output {file}": {"file", "schedules"},
    "run feed --idempotency-key k": {"job_id", "schedule_id", "tick_ms", "replayed"},
    "run {long} --idempotency-key k": {"job_id", "schedule_id", "tick_ms", "replayed"},
    "events docs": {"events", "next_cursor"},
    "events feed --limit 1": {"events", "next_cursor"},
    "events {long}": {"events", "next_cursor"},
    "runs": {"runs", "next_cursor"},
    "runs --limit 1": {"runs", "next_cursor"},
    "runs docs": {"runs", "next_cursor"},
    "occurrence docs {held}": {"schedule_id", "tick_ms", "state", "hold_reason", "timeline", "explanation"},
    "occurrence feed {held}": {"schedule_id", "tick_ms", "state", "result_ref", "timeline", "explanation"},
    "occurrence {long} {held}": {"schedule_id", "tick_ms", "on_record", "explanation"},
    "occurrence feed 2026-01-01T00:30:00Z": {"schedule_id", "tick_ms", "on_record", "explanation", "events"},
    "holds": {"holds", "next_cursor"},
    "hold resolve docs {held} --outcome committed --by ann --evidence 'ticket 1'": {"schedule_id", "tick_ms", "state"},
    "fleet": {"duty", "workers", "queues", "schedules", "holds", "lag_ms", "now"},
    "completion bash": {"shell", "script"},
}  # fmt: skip


@pytest.fixture
def words(lived_in: Occurrence, tmp_path: Path, request: pytest.FixtureRequest) -> list[str]:
    file = tmp_path / "f.toml"
    file.write_text(FILE, "utf-8")
    command = request.param.format(long="a" * 64, held=lived_in.tick_ms, file=file)
    return shlex.split(command)


@pytest.mark.parametrize("words", [each for each in COMMANDS if "completion" not in each], indirect=True)
def test_no_line_is_longer_than_eighty_columns(cli: Cli, words: list[str]) -> None:
    said = cli.text(*words)
    assert said.strip()
    assert [line for line in said.splitlines() if len(line) > 80] == []
    assert "\x1b" not in said


@pytest.mark.parametrize(("words", "keys"), COMMANDS.items(), indirect=["words"])
def test_json_has_the_promised_keys(cli: Cli, words: list[str], keys: set[str]) -> None:
    assert cli.json(*words).keys() >= keys


def paths(group: click.Group, path: str = "") -> Iterator[str]:
    """Every command, as one types it."""
    yield path
    for name in group.list_commands(click.Context(group)):
        # These two come with the demo.
        if name in {"demo", "up"}:
            continue
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from paths(command, f"{path} {name}")
        else:
            yield f"{path} {name}"


@pytest.mark.parametrize("command", list(paths(root)))
def test_help_fits_and_names_no_python(cli: Cli, command: str) -> None:
    said = cli.text(*command.split(), "--help")
    assert max(map(len, said.splitlines())) <= 80
    assert "Usage: duly" in said


@pytest.mark.parametrize("width", ["80", "160"])
@pytest.mark.parametrize("command", ["runs", "runs docs", "events docs", "events feed"])
def test_every_record_of_the_past_is_one_line(cli: Cli, lived_in: Occurrence, command: str, width: str) -> None:
    (records,) = [each for each in cli.json(*command.split()).values() if isinstance(each, list)]
    lines = cli.text(*command.split(), COLUMNS=width).splitlines()
    days = [line for line in lines if line.endswith(" UTC")]
    assert len(lines) == 1 + len(days) + len(records)
    assert not {"accepted", "outcome_unknown"} & set(" ".join(lines).split())


def test_markup_and_emoji_codes_are_shown_as_they_are(cli: Cli, lived_in: Occurrence) -> None:
    for command in (["schedule", "show", "paused"], ["holds"], ["occurrence", "docs", str(lived_in.tick_ms)]):
        assert HOSTILE in cli.text(*command)


def test_what_could_steer_a_terminal_is_spelled_out(cli: Cli, bench: Bench, lived_in: Occurrence) -> None:
    # Whoever can write to Redis can write anything.
    bench.backend.client.hset(bench.store.keys.schedule("paused"), "note", "a\x1b]0;x\x07b\u202ec\r\n\u200b")
    said = cli.text("schedule", "show", "paused")
    assert "a\\x1b]0;x\\x07b\\u202ec\\r\\n\\u200b" in said
    assert not set(said) & set("\x1b\x07\u202e\r\u200b")


def test_json_is_plain_ascii(cli: Cli, lived_in: Occurrence) -> None:
    assert cli("schedule", "show", "paused", "--json").stdout.isascii()


def test_the_command_that_resolves_a_hold_is_ready_to_copy(cli: Cli, lived_in: Occurrence) -> None:
    said = cli.text("holds").replace("\\\n", "")
    line = next(line for line in said.splitlines() if "duly hold resolve" in line)
    assert line.split()[:5] == ["duly", "hold", "resolve", "docs", str(lived_in.tick_ms)]


@pytest.mark.parametrize("length", [1, 20, 64])
def test_a_command_too_long_for_the_screen_continues_as_a_shell_reads_it(length: int) -> None:
    words = [
        "duly",
        "hold",
        "resolve",
        "a" * length,
        "1767225660000",
        "--outcome OUTCOME",
        "--by NAME",
        "--evidence REF",
    ]
    shown = output.command(*words).plain
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.replace("\\\n", "").split() == " ".join(words).split()


def test_empty_stores_say_so_in_words(cli: Cli) -> None:
    for command in (["schedule", "list"], ["holds"], ["runs"], ["fleet"]):
        assert cli.text(*command).strip()


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (90_061_000, "1 d 1 h")],
)
def test_durations_have_at_most_two_units(ms: int, text: str) -> None:
    assert duration(ms) == text


def test_instants_are_told_from_now() -> None:
    assert [relative(ms, 10_000) for ms in (10_500, 70_000, 5_000)] == ["now", "in 1 min", "5 s ago"]


def test_harmless_text_is_left_alone() -> None:
    assert safe("Zoë, 東京 €") == "Zoë, 東京 €"
