"""Every option of every command is also an environment variable, named by one rule."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from duly.common.cli.root import root
from tests.acceptance.conftest import Cli


def options() -> Iterator[tuple[click.Context, click.Option, str]]:
    """Each option, with the context of its command and the variable that the rule names."""
    todo = [click.Context(root, info_name="duly", **root.context_settings)]
    while todo:
        context = todo.pop()
        command = context.command
        for option in command.params:
            if isinstance(option, click.Option):
                for long in (each for each in option.opts if each.startswith("--")):
                    yield context, option, f"{context.auto_envvar_prefix}_{long[2:].replace('-', '_').upper()}"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                todo.append(click.Context(below, parent=context, info_name=name))


def test_the_walk_finds_the_options_of_commands_and_of_commands_below_them() -> None:
    found = {variable for _, _, variable in options()}
    assert {"DULY_REDIS_URL", "DULY_WORKER_CONCURRENCY", "DULY_SCHEDULE_ADD_LEASE_TTL_MS"} <= found
    assert len(found) > 100


def test_every_option_is_also_an_environment_variable_with_the_name_of_its_command_and_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking = []
    for context, option, variable in options():
        with monkeypatch.context() as here:
            here.setenv(variable, "given")
            if option.resolve_envvar_value(context) != "given":
                lacking.append(variable)
    assert lacking == []


def test_the_example_cases_are_written_where_the_environment_says(tmp_path: Path) -> None:
    Cli().json("contract", "examples", DULY_CONTRACT_EXAMPLES_WRITE=str(tmp_path))
    assert [json.loads(each.read_text())["evidence"] for each in tmp_path.glob("*.json")]
