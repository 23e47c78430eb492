"""`duly worker`, `duly scheduler` and `duly completion`: what they start, and what they refuse to start."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from duly.common.cli import process_options
from duly.common.process.roles import RoleOptions
from duly.common.process.supervisor import Supervisor
from tests.acceptance.conftest import ADD, Cli
from tests.conftest import Backend


@dataclass
class Started:
    """What the supervisor was given, without a process."""

    how: str = ""
    roles: Any = ()
    supervisor: Any = None

    def options(self) -> list[RoleOptions]:
        return [options for _, options in self.roles]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    seen = Started()

    def remember(how: str) -> Any:
        def run(self: Supervisor) -> int:
            seen.how, seen.roles, seen.supervisor = how, self.roles, self
            return 0

        return run

    for how in ("run", "run_burst"):
        monkeypatch.setattr(Supervisor, how, remember(how))
    monkeypatch.setattr(process_options, "load_role", lambda name: name)
    for command in ("worker", "scheduler"):
        monkeypatch.setattr(f"duly.common.cli.{command}.check_store", lambda app: None)
    before = logging.getLogger().handlers[:], logging.getLogger().level, sys.path[:]
    yield seen
    logging.getLogger().handlers, level, sys.path[:] = before[0], before[1], before[2]
    logging.getLogger().setLevel(level)


def test_a_worker_is_a_candidate_and_workers_under_one_name(started: Started) -> None:
    words = [
        "-m",
        "json",
        "-m",
        "shlex",
        "-q",
        "a",
        "-q",
        "b",
        "-q",
        "a",
        "--concurrency",
        "2",
        "--allow-rq",
        "old.jobs",
    ]
    assert Cli()("worker", *words, "--name", "box", "--stop-grace-ms", "5").exit_code == 0
    assert started.how == "run"
    assert [role for role, _ in started.roles] == ["scheduler", "worker", "worker"]
    assert [each.name for each in started.options()] == ["box.s", "box.1", "box.2"]
    assert started.options()[1] == RoleOptions("box.1", ("json", "shlex"), ("a", "b"), False, ("old.jobs",))
    assert started.supervisor.grace_ms == 5


def test_a_worker_without_a_scheduler_in_a_burst(started: Started) -> None:
    assert Cli()("worker", "-m", "json", "--no-scheduler", "--burst").exit_code == 0
    assert started.how == "run_burst"
    assert [(role, each.burst, each.queues) for role, each in started.roles] == [("worker", True, ("default",))]
    assert started.options()[0].name.endswith(f"-{os.getpid()}.1")


def test_a_scheduler_is_a_candidate_only(started: Started) -> None:
    assert Cli()("scheduler", "--name", "box", DULY_PREFIX="mine", RQ_KEY_PREFIX="mine-rq").exit_code == 0
    assert started.options() == [RoleOptions("box")]
    assert started.supervisor.settings.prefix == "mine"


def test_options_of_a_worker_can_come_from_the_environment(started: Started) -> None:
    environment = {"DULY_WORKER_MODULE": "json", "DULY_WORKER_QUEUE": "a b", "DULY_LOG_LEVEL": "debug"}
    assert Cli()("worker", **environment).exit_code == 0
    assert started.options()[0].queues == ("a", "b")
    assert logging.getLogger().level == logging.DEBUG


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({}, logging.INFO),
        ({"DULY_LOG_LEVEL": "error"}, logging.ERROR),
        ({"DULY_LOG_LEVEL": "error", "DULY_SCHEDULER_LOG_LEVEL": "debug"}, logging.DEBUG),
        ({"DULY_LOG_LEVEL": ""}, logging.INFO),
    ],
)
def test_what_is_said_for_a_command_counts_before_what_is_said_for_all(
    started: Started, environment: dict[str, str], level: int
) -> None:
    assert Cli()("scheduler", **environment).exit_code == 0
    assert logging.getLogger().level == level


def test_a_log_level_for_all_that_is_none_is_refused(started: Started) -> None:
    assert "'loud' is not one of" in Cli().refusal("scheduler", code=2, DULY_LOG_LEVEL="loud")


def test_the_exit_code_of_a_burst_is_that_of_the_command(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Supervisor, "run_burst", lambda self: 7)
    assert Cli()("scheduler", "--burst").exit_code == 7


def test_modules_are_found_in_the_working_directory(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mytasks_here.py").write_text("print('to standard output')\n")
    monkeypatch.chdir(tmp_path)
    assert Cli()("worker", "-m", "mytasks_here").exit_code == 0
    assert "mytasks_here" not in sys.modules


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("1/0", "ZeroDivisionError: division by zero"),
        ("def", "SyntaxError: invalid syntax"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise ValueError('a\\nb\\x1b')", "ValueError: a b\\x1b"),
        ("import os; os._exit(3)", "its import: ended the process (3)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_named_with_the_reason(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    (tmp_path / "mytasks_bad.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    said = Cli().refusal("worker", "-m", "mytasks_bad")
    assert said.startswith(f"module 'mytasks_bad' cannot be imported: {reason}")
    assert started.how == ""


def test_a_module_that_is_not_there_is_named(started: Started) -> None:
    said = Cli().refusal("worker", "-m", "json", "-m", "no_such_module.tasks")
    assert "module 'no_such_module.tasks' cannot be imported: ModuleNotFoundError" in said


def test_a_module_that_is_not_there_says_where_to_run_it(started: Started) -> None:
    for module, lies in (("no_such_app.tasks", "no_such_app/"), ("no_such_tasks", "no_such_tasks.py")):
        assert Cli().refusal("worker", "-m", module).endswith(f"; run it where {lies} lies, or set PYTHONPATH")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("import json\njson.loads('{')", 2),
        ("\n\nimport no_such_library", 3),
        ("\ndef", 2),
        ("from duly.worker import task\n@task('a b')\ndef f(): pass", 2),
    ],
)
def test_an_error_in_a_module_names_the_line_of_the_users_own_code(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, line: int
) -> None:
    (tmp_path / "mytasks_bad.py").write_text("import mytasks_worse")
    (tmp_path / "mytasks_worse.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    said = Cli().refusal("worker", "-m", "mytasks_bad")
    assert said.endswith(f" (mytasks_worse.py, line {line})")
    assert "PYTHONPATH" not in said


COMMANDS_WITH_HOOKS = [("scheduler",), ("scheduler", "--burst"), ("worker", "-m", "json"), ("up",)]


@pytest.mark.parametrize("words", COMMANDS_WITH_HOOKS, ids=" ".join)
def test_a_hook_that_cannot_be_used_is_one_line_before_anything_is_started(
    started: Started, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duly.common.cli.up.EmbeddedStore", None)
    said = Cli().refusal(*words, DULY_ON_ENQUEUE="json:loads,nope:x")
    reason = "ModuleNotFoundError: No module named 'nope'; run it where nope.py lies, or set PYTHONPATH"
    assert said == f"DULY_ON_ENQUEUE: 'nope:x' cannot be used: {reason}"
    assert started.how == ""


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        ("myhooks:nothing", "cannot be used: AttributeError: module 'myhooks' has no attribute 'nothing'"),
        ("myhooks:NUMBER", "cannot be used: TypeError: NUMBER is not callable"),
        ("myhooks_bad:hook", "cannot be used: ZeroDivisionError: division by zero (myhooks_bad.py, line 2)"),
        ("myhooks", "is no hook, such as myapp.hooks:before_enqueue"),
        ("myhooks:", "is no hook, such as myapp.hooks:before_enqueue"),
        ("my hooks:x", "is no hook, such as myapp.hooks:before_enqueue"),
    ],
)
def test_a_hook_that_cannot_be_used_is_named_with_the_reason(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str, reason: str
) -> None:
    (tmp_path / "myhooks.py").write_text("NUMBER = 1")
    (tmp_path / "myhooks_bad.py").write_text("\n1/0")
    monkeypatch.chdir(tmp_path)
    assert Cli().refusal("scheduler", DULY_ON_ENQUEUE=hook) == f"DULY_ON_ENQUEUE: '{hook}' {reason}"


def test_a_hook_is_found_in_the_working_directory_and_not_imported_by_the_supervisor(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "myhooks_here.py").write_text("def hook(context): ...")
    monkeypatch.chdir(tmp_path)
    assert Cli()("scheduler", DULY_ON_ENQUEUE="myhooks_here:hook").exit_code == 0
    assert "myhooks_here" not in sys.modules
    assert str(tmp_path) in sys.path


def test_a_worker_that_is_no_candidate_needs_no_hooks(started: Started) -> None:
    assert Cli()("worker", "-m", "json", "--no-scheduler", DULY_ON_ENQUEUE="nope:x").exit_code == 0


def test_a_role_that_is_not_installed_is_named(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise LookupError

    monkeypatch.setattr(process_options, "load_role", missing)
    assert "the scheduler is not part of this installation" in Cli().refusal("scheduler")


def test_a_log_record_is_one_line(capsys: pytest.CaptureFixture[str], started: Started) -> None:
    process_options.configure_log("info")
    logging.getLogger("x").info("ended by %s\n%s", "ValueError", "  frame 1\n  frame 2\x1b")
    logging.getLogger("x").debug("not shown")
    (line,) = capsys.readouterr().err.splitlines()
    time, level, message = line.split(" ", 2)
    assert time.endswith("Z")
    assert (level, message) == ("INFO", "ended by ValueError | frame 1 | frame 2\\x1b")


@pytest.mark.server
def test_a_burst_runs_what_is_due_and_ends(valkey: Backend, tmp_path: Path) -> None:
    source = "from duly.worker import current_run, task\n@task('t')\ndef t(): current_run().set_result_ref('ref 1')\n"
    (tmp_path / "mytasks_burst.py").write_text(source)
    cli, url = Cli(), ["--redis-url", str(valkey.url)]
    cli.json("schedule", "add", "x", *ADD, "--task", "t", "--spec", "@every:86400000", *url)
    made = cli.json("run", "x", "--idempotency-key", "k", *url)
    command = [sys.executable, "-c", "from duly.common.cli import main; main()", "worker", "-m", "mytasks_burst"]
    ended = subprocess.run([*command, "--burst", *url], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    shown = cli.json("occurrence", "x", str(made["tick_ms"]), *url)
    assert (shown["state"], shown["result_ref"]) == ("SUCCEEDED", "ref 1")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_completion_script_for_each_shell(cli: Cli, shell: str) -> None:
    assert "_DULY_COMPLETE" in cli.text("completion", shell)
    assert cli.json("completion", SHELL=f"/bin/{shell}")["shell"] == shell


def test_the_completion_of_an_unknown_shell_asks_for_its_name(cli: Cli) -> None:
    assert "Name your shell" in cli.refusal("completion", code=2, SHELL="/bin/tcsh")


@pytest.mark.parametrize(
    ("words", "suggested"), [("duly sched", "schedule"), ("duly schedule pau", "pause"), ("duly hold res", "resolve")]
)
def test_the_shell_completes_commands(cli: Cli, words: str, suggested: str) -> None:
    environment = {"_DULY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert f"plain,{suggested}" in cli(**environment).stdout
