"""The README: what it tells a stranger to type must exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import urllib.error
import urllib.request
from dataclasses import fields
from email.message import Message
from pathlib import Path
from types import ModuleType

import click
import pytest

import duly.worker
from duly.common.cli import root
from duly.common.cli.schedule.schedule_file import read_text
from duly.common.settings import Settings
from duly.worker import tasks
from duly.worker.probe import PROBE_ANSWERS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def command_lines() -> list[list[str]]:
    """Every `duly ...` line of the shell blocks and of the text, as words after `duly`."""
    shell = "".join(blocks("sh")).replace("\\\n", " ")
    lines = [words for line in shell.splitlines() if "duly" in (words := shlex.split(line, comments=True))]
    inline = [shlex.split(code) for code in re.findall(r"`(duly [^`]+)`", re.sub(r"\s+", " ", README))]
    found = [words[words.index("duly") + 1 :] for words in [*lines, *inline]]
    return [words for words in found if words]


@pytest.mark.parametrize("line", command_lines(), ids=" ".join)
def test_every_command_line_names_a_command_and_options_that_exist(line: list[str]) -> None:
    command: click.Command = root
    words = list(line)
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None
        command = found
    options = {name for param in command.params for name in [*param.opts, *param.secondary_opts]} | {"--help"}
    assert [word for word in words if word.startswith("-") and word not in options] == []


def test_the_table_of_settings_is_complete_and_its_defaults_are_right() -> None:
    rows = dict(re.findall(r"^\| `(DULY_\w+)` \|(.*?)\|", README, re.MULTILINE))
    defaults = {f"DULY_{each.name.upper()}": each.default for each in fields(Settings)}
    assert {name: text.strip().strip("`") for name, text in rows.items()} == {
        name: str(default) if default else "" for name, default in defaults.items()
    }


def test_the_example_schedules_file_can_be_applied() -> None:
    (text,) = blocks("toml")
    (entry,) = read_text(text)
    assert entry.definition.schedule_id == "docs"


def example_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ModuleType]:
    """The example modules, imported into an empty registry."""
    monkeypatch.setattr(tasks, "_tasks", {})
    made = []
    for number, source in enumerate(blocks("python")):
        name = f"readme_tasks_{number}"
        (tmp_path / f"{name}.py").write_text(source)
        spec = importlib.util.spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        monkeypatch.setitem(sys.modules, name, module := importlib.util.module_from_spec(spec))
        spec.loader.exec_module(module)
        made.append(module)
    return made


def test_the_example_task_modules_register_the_tasks_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example_tasks(tmp_path, monkeypatch)
    assert tasks.task_names() == ["billing.charge", "docs.refresh"]


@pytest.mark.parametrize(("code", "answer"), [(None, "COMMITTED"), (404, "NO_COMMITTED_RESULT"), (503, "UNKNOWN")])
def test_the_example_probe_answers_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, answer: str
) -> None:
    def urlopen(url: str, timeout: float) -> None:
        if code is not None:
            raise urllib.error.HTTPError(url, code, "", Message(), None)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    _, billing = example_tasks(tmp_path, monkeypatch)
    assert billing.charged("docs@1:00") == answer
    assert answer in PROBE_ANSWERS


def test_everything_that_the_worker_exports_is_named() -> None:
    assert [name for name in duly.worker.__all__ if f"`{name}`" not in README] == []


def test_every_make_target_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(
        re.findall(r"\bmake ([a-z]+)\b", "".join(re.findall(r"`make [^`]+`|^    make .*$", README, re.MULTILINE)))
    )
    assert named >= {"demo", "test", "help"}
    assert [target for target in named if not re.search(rf"^{target}:.* ## ", makefile, re.MULTILINE)] == []


def test_every_file_it_links_to_is_there() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_has_no_line_too_long_to_be_read_in_a_terminal() -> None:
    prose = [line for line in README.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 120
