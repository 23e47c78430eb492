"""Groups whose commands are imported only when they are used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from duly.common.explain.text import close_to


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, ``module:attribute``, and the line that help shows for it."""

    target: str
    help: str


class LazyGroup(click.Group):
    """A group that lists, describes and completes its commands from a table, without importing them."""

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        entry = self.table.get(cmd_name)
        return None if entry is None else _load(cmd_name, entry.target)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = "" if args[0] in self.table else close_to(args[0], self.table)
        if near and not ctx.resilient_parsing:
            ctx.fail(f"No such command '{args[0]}'{near}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=entry.help) for name, entry in self.table.items() if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


def _load(name: str, target: str) -> click.Command:
    module, _, attribute = target.partition(":")
    try:
        command: click.Command = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise click.UsageError(f"'{name}' is not part of this installation.") from error
    return command
