"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from duly.common.cli.app import App
from duly.common.explain.ticks import read_tick
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.records.line import MAX_NOTE, check_line

_F = TypeVar("_F", bound=Callable[..., Any])

DEFAULT_LIMIT = 50


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and param.name:
        setattr(ctx.ensure_object(App), param.name, value)


def json_option(text: str = "Print JSON.") -> Callable[[_F], _F]:
    """``--json`` alone, for a command that chooses its Redis itself."""
    return click.option("--json", is_flag=True, expose_value=False, is_eager=True, callback=_remember, help=text)


def shared(command: _F, *, envvar: str | None = None, offline: bool = False) -> _F:
    """``--json`` and ``--redis-url``; given more than once, the one nearest the command counts.

    ``offline`` does not show the URL, which a command that needs no Redis takes all the same.
    """
    url_option = click.option(
        "--redis-url",
        metavar="URL",
        expose_value=False,
        is_eager=True,
        callback=_remember,
        envvar=envvar,
        hidden=offline,
        help="redis://, rediss:// or unix:// [DULY_REDIS_URL; default redis://127.0.0.1:6379/0].",
    )
    return json_option()(url_option(command))


def shared_offline(command: _F) -> _F:
    """The same for a command that asks no Redis."""
    return shared(command, offline=True)


def shared_at_root(command: _F) -> _F:
    """The same, with the environment variable that counts for every command."""
    return shared(command, envvar="DULY_REDIS_URL")


def paged(default: int) -> Callable[[_F], _F]:
    """``--limit`` and ``--cursor`` of a list."""

    def decorate(command: _F) -> _F:
        limit = click.option(
            "--limit", type=click.IntRange(1, 100), default=default, show_default=True, help="Records at most."
        )
        cursor = click.option("--cursor", metavar="CURSOR", help="Where the page before said it goes on.")
        return limit(cursor(command))

    return decorate


revision_option = click.option("--revision", type=int, metavar="N", help="Only if the schedule is at this revision.")


def read_occurrence(first: str, tick: str | None) -> Occurrence:
    """The occurrence of two arguments, ``ID TICK``, or of one as logs name it, ``ID@TICK``; raises InvalidField."""
    if tick is None:
        first, at, tick = first.rpartition("@")
        if not at:
            raise click.UsageError("Name the tick too: ID TICK_MS or ID@TICK_MS.", click.get_current_context())
    return Occurrence(check_schedule_id(first), read_tick(tick))


def read_note(text: str) -> str:
    """A note fit to be kept and shown: one printable line; raises InvalidField."""
    return check_line("note", text, MAX_NOTE)
