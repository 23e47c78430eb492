"""`duly contract`: cases from files, decided without a store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete

from duly.common.cli import root
from duly.common.contract import examples, read_case, schema
from tests.acceptance.conftest import HOSTILE, Cli
from tests.pure.contract_cases import ABSENT, CALENDAR, MANUAL, STALE, change

HELD = change(CALENDAR, prior_outcome="UNKNOWN", attempt=9)


@pytest.fixture
def offline() -> Cli:
    """`duly` as it is run for real: a store would have to be connected to."""
    return Cli()


class Files:
    """Case files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, content: Any) -> str:
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("raw", "code", "decision"),
    [
        (CALENDAR, 0, "CALENDAR_RUN_REVIEW_REQUIRED"),
        (MANUAL, 0, "CALENDAR_RUN_REVIEW_REQUIRED"),
        (STALE, 0, "COALESCED_STALE_TICK"),
        (change(CALENDAR, now="2026-03-03T01:00:00Z"), 0, "NOT_DUE"),
        (HELD, 3, "HOLD_PRIOR_OUTCOME_UNKNOWN"),
        ({"evidence": {}, "observed": {}}, 3, "HOLD_SCHEDULE_IDENTITY_INCOMPLETE"),
    ],
)
def test_the_exit_code_tells_a_hold_from_what_may_run_or_needs_nothing(
    offline: Cli, files: Files, raw: Any, code: int, decision: str
) -> None:
    result = offline("contract", "decide", files("case.json", raw), "--json")
    assert (result.exit_code, result.stderr) == (code, "")
    assert json.loads(result.stdout)["decision"] == decision


def test_one_file_prints_the_verdict_and_nothing_else(offline: Cli, files: Files) -> None:
    result = offline("contract", "decide", files("case.json", HELD), "--json")
    assert json.loads(result.stdout) == {
        "decision": "HOLD_PRIOR_OUTCOME_UNKNOWN",
        "runs": False,
        "holds": ["HOLD_PRIOR_OUTCOME_UNKNOWN", "HOLD_RETRY_BUDGET_EXHAUSTED", "HOLD_BACKOFF_STATE_MISSING"],
        "blocking_fields": ["prior_outcome", "attempt", "retry_budget", "backoff_state"],
        "explanation": "docs@2026-03-03T02:00:00Z is held for ann: its prior outcome is UNKNOWN, so an earlier run may "
        "have taken effect. Beside that: no attempt is shown to be left in its budget, and no backoff state is known.",
        "review_owner": "ann",
    }


def test_several_files_print_a_list_in_their_order(offline: Cli, files: Files) -> None:
    names = [files("b.json", HELD), files("a.json", CALENDAR)]
    result = offline("contract", "decide", *names, "--json")
    said = json.loads(result.stdout)
    assert result.exit_code == 3
    assert [each["file"] for each in said] == names
    assert [each["runs"] for each in said] == [False, True]


def test_a_file_can_come_on_standard_input(offline: Cli, files: Files) -> None:
    result = offline("contract", "decide", "-", "--json", stdin=json.dumps(CALENDAR))
    assert (result.exit_code, json.loads(result.stdout)["runs"]) == (0, True)


def test_people_are_told_the_decision_the_holds_and_the_values_that_block(offline: Cli, files: Files) -> None:
    result = offline("contract", "decide", files("case.json", change(HELD, review_owner=ABSENT)))
    lines = result.stdout.splitlines()
    assert result.exit_code == 3
    assert lines[0].split() == ["decision", "HOLD_REVIEW_OWNER_MISSING"]
    assert "              review_owner = (absent)" in [f"{' ' * 14}{line[14:]}" for line in lines]
    assert '              prior_outcome = "UNKNOWN"' in lines
    assert "              attempt = 9" in lines
    assert lines[-1].split() == ["review", "owner", "-"]
    assert max(map(len, lines)) <= 80


def test_text_from_a_file_neither_marks_up_nor_steers(offline: Cli, files: Files) -> None:
    raw = change(CALENDAR, review_owner=HOSTILE, lease_owner="a\x1b[2J\u202e" + "w" * 3_000, attempt="\x07" * 5_000)
    result = offline("contract", "decide", files("case.json", raw))
    assert result.exit_code == 3
    assert HOSTILE in result.stdout
    assert "[2J" in result.stdout
    assert not set(result.stdout) & set("\x1b\x07\u202e\r")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert len(result.stdout) < 3_000


MALFORMED = [
    (b"", "is not JSON"),
    (b"not json", "is not JSON"),
    (b"\xff\xfe\x00binary", "is not UTF-8 text (byte 0)"),
    (b'{"evidence": {}, "evidence": {}}', "names the key 'evidence' twice"),
    (b'{"evidence": {"attempt": NaN}, "observed": {}}', "no NaN"),
    (b'{"evidence": {"attempt": -Infinity}, "observed": {}}', "no -Infinity"),
    (b"[" * 100_000, "must not be nested deeper than 64 levels"),
    (b'"' + b'\\"' * 500_000, "is not JSON"),
    (b" " * 1_048_577, "is over 1 MiB"),
    (b"[]", "case: must be an object"),
    (b'{"evidence": {}}', "observed: is missing"),
    (b'{"evidence": {"a\\u001bb": 1}, "observed": {}}', "evidence: has no field a\\x1bb"),
    (b'{"evidence": {"attempt": 1' + b"0" * 5_000 + b'}, "observed": {}}', "is not JSON"),
]


@pytest.mark.parametrize(("content", "problem"), MALFORMED, ids=[problem for _, problem in MALFORMED])
def test_what_is_no_case_file_is_one_line_that_names_file_and_fault(
    offline: Cli, files: Files, content: bytes, problem: str
) -> None:
    name = files("bad.json", content)
    said = offline.refusal("contract", "decide", name, code=2)
    assert said.startswith(f"{name}: ")
    assert problem in said
    assert offline("contract", "decide", "-", stdin=content).exit_code == 2


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["/no/such/file", "/", "/dev/zero", "x" * 5_000, ""])
def test_a_file_that_cannot_be_read_is_one_line_too(offline: Cli, name: str) -> None:
    assert offline.refusal("contract", "decide", name, code=2)


def test_the_other_files_are_decided_all_the_same(offline: Cli, files: Files) -> None:
    names = [files("a.json", b"?"), files("b.json", HELD), "/no/such/file", files("c.json", CALENDAR)]
    result = offline("contract", "decide", *names, "--json")
    assert result.exit_code == 2
    assert [each["file"] for each in json.loads(result.stdout)] == [names[1], names[3]]
    errors = [json.loads(line)["error"] for line in result.stderr.splitlines()]
    assert [(each["code"], each["file"]) for each in errors] == [
        ("malformed_case", names[0]),
        ("unreadable_file", names[2]),
    ]
    text = offline("contract", "decide", *names)
    assert text.exit_code == 2
    assert [line.split()[1] for line in text.stdout.splitlines() if line.startswith("file ")] != []
    assert text.stderr.count("\n") == 2


def test_under_json_a_fault_inside_a_case_names_its_part(offline: Cli, files: Files) -> None:
    name = files("a.json", {"evidence": {}, "observed": {"when": 1}})
    result = offline("contract", "decide", name, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    error = json.loads(result.stderr)["error"]
    assert (error["code"], error["field"], error["file"]) == ("malformed_case", "observed", name)


def test_no_file_is_a_usage_error(offline: Cli) -> None:
    assert "FILE" in offline.refusal("contract", "decide", code=2)


def test_the_schema_is_printed_with_and_without_json(offline: Cli) -> None:
    assert json.loads(offline.text("contract", "schema")) == offline.json("contract", "schema") == schema()


def test_the_examples_are_listed_with_what_is_decided(offline: Cli) -> None:
    said = offline.json("contract", "examples")
    assert [each["name"] for each in said["examples"]] == [each.name for each in examples()]
    assert said.keys() == {"examples"}
    text = offline.text("contract", "examples")
    assert max(map(len, text.splitlines())) <= 80
    assert all(each["name"] in text and each["decision"] in text for each in said["examples"])


def test_the_written_examples_can_be_decided(offline: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cases"
    written = offline.json("contract", "examples", "--write", str(folder))["written"]
    assert written == [str(path) for path in sorted(folder.iterdir())]
    said = json.loads(offline("contract", "decide", *written, "--json").stdout)
    listed = offline.json("contract", "examples")["examples"]
    assert [each["decision"] for each in said] == [each["decision"] for each in listed]
    assert [read_case(json.loads(Path(name).read_text("utf-8"))) for name in written] == [e.case for e in examples()]


def test_examples_are_written_again_only_where_they_are_missing(offline: Cli, tmp_path: Path) -> None:
    offline.text("contract", "examples", "--write", str(tmp_path))
    assert "nothing to write" in offline.text("contract", "examples", "--write", str(tmp_path))
    (tmp_path / "11-not-due.json").unlink()
    assert offline.json("contract", "examples", "--write", str(tmp_path))["written"] == [
        str(tmp_path / "11-not-due.json")
    ]


def test_a_file_that_differs_is_not_overwritten_and_nothing_else_is_written(offline: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "03-two-workers-one-lease.json"
    mine.write_text("mine", "utf-8")
    said = offline.refusal("contract", "examples", "--write", str(tmp_path))
    assert "03-two-workers-one-lease.json" in said
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]
    assert mine.read_text("utf-8") == "mine"


def test_a_folder_that_cannot_be_made_is_one_line(offline: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    assert "cannot be written" in offline.refusal("contract", "examples", "--write", str(tmp_path / "file" / "x"))
    offline.refusal("contract", "examples", "--write", str(tmp_path / "file"), code=2)


def test_neither_redis_nor_settings_are_looked_at(files: Files) -> None:
    program = (
        "import sys\nfrom duly.common.cli import root\n"
        f"try: root.main(['contract', 'decide', {files('case.json', CALENDAR)!r}], prog_name='duly')\n"
        "except SystemExit as end: print(end.code, {'redis', 'rq', 'duly.common.store'} & set(sys.modules))"
    )
    environment = {"DULY_REDIS_URL": "nonsense", "DULY_RETENTION_MS": "never"}
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    assert said.stdout.splitlines()[-1] == "0 set()"


def test_a_shell_completes_commands_and_files() -> None:
    complete = ShellComplete(root, {}, "duly", "_DULY_COMPLETE")
    assert [each.value for each in complete.get_completions(["contract"], "")] == ["decide", "examples", "schema"]
    (files,) = complete.get_completions(["contract", "decide"], "ca")
    (folders,) = complete.get_completions(["contract", "examples", "--write"], "ca")
    assert (files.type, folders.type) == ("file", "dir")


def test_the_groups_commands_are_all_described() -> None:
    group = root.get_command(click.Context(root), "contract")
    assert isinstance(group, click.Group)
    assert all(command.help for command in group.commands.values())
