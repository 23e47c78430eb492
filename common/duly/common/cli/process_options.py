"""What `duly worker` and `duly scheduler` share: a name, a log, and a look at Redis before anything starts."""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from duly.common.cli.app import App
from duly.common.errors import DulyError, StoreRefused
from duly.common.explain.text import safe
from duly.common.process.roles import Role, load_role
from duly.common.store import Store
from duly.common.store.connection import connect, translated

_F = TypeVar("_F", bound=Callable[..., Any])
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class RoleMissing(DulyError):
    """This installation lacks the code of a role."""

    code = "role_missing"


def process_options(command: _F) -> _F:
    """``--name``, ``--stop-grace-ms`` and ``--log-level``."""
    name = click.option(
        "--name", callback=_check_name, metavar="NAME", help="Unique in the fleet (default <hostname>-<pid>)."
    )
    grace = click.option(
        "--stop-grace-ms",
        type=click.IntRange(0, 7 * 86_400_000),
        metavar="MS",
        help="Longest wait for running work after the first signal (default: its time-outs).",
    )
    return name(grace(log_level_option("INFO")(command)))


def log_level_option(default: str) -> Callable[[_F], _F]:
    """``--log-level``; where nothing is said for the command itself, DULY_LOG_LEVEL counts."""
    return click.option(
        "--log-level",
        type=click.Choice(LEVELS, case_sensitive=False),
        default=lambda: os.environ.get("DULY_LOG_LEVEL") or default,
        help=f"default: DULY_LOG_LEVEL, else {default}",
    )


def _check_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str:
    if value is None:
        return re.sub(r"[^A-Za-z0-9_.-]", "-", f"{socket.gethostname()}-{os.getpid()}").lstrip(".-")
    if _NAME.fullmatch(value):
        return value
    raise click.BadParameter("must be 1-100 letters, digits, '_', '.' and '-'", ctx, param)


def role(name: str) -> Role:
    """The role of this name; raises RoleMissing when it is not installed."""
    try:
        return load_role(name)
    except (LookupError, ImportError) as error:
        raise RoleMissing(f"the {name} is not part of this installation; install duly again") from error


def check_store(app: App) -> None:
    """Raises StoreUnavailable unless Redis answers, and lets us do what we must; no child inherits the connection."""
    client = connect(app.settings.redis_url)
    try:
        with translated():
            client.ping()
        refused = Store(client, app.settings).permissions.refused()
    finally:
        client.close()
    if refused:
        more = f" and {len(refused) - 1} more (duly doctor)" if len(refused) > 1 else ""
        raise StoreRefused(f"the Redis user in --redis-url may not {refused[0]}{more}")


def configure_log(level: str) -> None:
    """One line for each record, on stderr: time, level, message."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = _OneLine("%(asctime)s %(levelname)s %(message)s")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class _OneLine(logging.Formatter):
    """UTC to the millisecond; line breaks, as in a list of frames, become a bar."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return safe(" | ".join(line.strip() for line in super().format(record).splitlines() if line.strip()))
