"""How a command that does not succeed says so: one line on stderr, and an exit code."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from duly.common.cli.app import App
from duly.common.errors import DulyError, Held, ScheduleNotFound, StoreUnavailable
from duly.common.explain.text import close_to, one_line

REFUSED = 1
USAGE = 2
HELD = 3
INTERRUPTED = 130
LONGEST_LINE = 600
_NAMES = 1_000
BROKEN_PIPE = 141
"""128 + SIGPIPE, what a shell reports for any program whose reader went away."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is said about an error. ``code`` is stable."""

    code: str
    message: str
    exit_code: int
    fault: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def describe(error: BaseException) -> Failure:
    """The failure behind an exception."""
    if isinstance(error, click.UsageError):
        return Failure("usage", _usage(error), USAGE)
    if isinstance(error, click.ClickException):
        return Failure("failed", error.format_message(), REFUSED)
    if isinstance(error, DulyError):
        exit_code = HELD if isinstance(error, Held) else REFUSED
        details = getattr(error, "details", {})
        return Failure(error.code, str(error), exit_code, getattr(error, "field", None), details)
    name = type(error).__name__
    return Failure("unexpected", f"unexpected {name}; run it again with DULY_DEBUG=1 for the details", REFUSED)


def report(error: BaseException, app: App, *, as_json: bool) -> int:
    """Say what went wrong, and return the exit code."""
    failure = describe(error)
    if os.environ.get("DULY_DEBUG"):
        click.echo("".join(traceback.format_exception(error)), err=True)
    message = _bounded(one_line(failure.message + _hint(error, app)))
    if not as_json:
        click.echo(f"duly: {message}", err=True)
        return failure.exit_code
    said: dict[str, Any] = {"code": failure.code, "message": message}
    if failure.fault:
        said["field"] = failure.fault
    click.echo(json.dumps({"error": {**said, **failure.details}}), err=True)
    return failure.exit_code


def _hint(error: BaseException, app: App) -> str:
    """What the user may want to know besides: the address that was tried, an id like the one that is not there."""
    if isinstance(error, StoreUnavailable):
        return f" ({app.tried()})" if app.tried() and unreached(error) else ""
    if isinstance(error, ScheduleNotFound):
        try:
            return close_to(error.schedule_id, (each.schedule_id for each in app.store.schedules.page(_NAMES)[0]))
        except DulyError:
            return ""
    return ""


def unreached(error: StoreUnavailable) -> bool:
    """Whether the connection failed, rather than a request."""
    from redis import exceptions

    causes = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.InvalidResponse)
    return isinstance(error.__cause__, causes)


def _bounded(message: str) -> str:
    """The message without the middle of what a user typed at length."""
    if len(message) <= LONGEST_LINE:
        return message
    half = LONGEST_LINE // 2
    return f"{message[:half]} ... {message[-half:]}"


def _usage(error: click.UsageError) -> str:
    message = error.format_message()
    if error.ctx is None:
        return message
    return f"{message.rstrip('.')} (see '{error.ctx.command_path} --help')"
