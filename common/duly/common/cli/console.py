"""`duly console`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Protocol, cast

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.process_options import RoleMissing, configure_log, log_level_option
from duly.common.process.roles import GROUP
from duly.common.settings import Settings


class ConsoleRole(Protocol):
    """Serves on an address until it is told to stop, and says when it is reachable."""

    def __call__(
        self,
        settings: Settings,
        host: str,
        port: int,
        environ: Mapping[str, str],
        announce: Callable[[str, int], None],
    ) -> int: ...


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8787, show_default=True, help="0 takes a free one.")
@log_level_option("WARNING")
@shared
@pass_app
def console(app: App, host: str, port: int, log_level: str) -> int:
    """HTTP API and console, until Ctrl+C or SIGTERM.

    On a loopback address whoever is on this machine may change everything. Any other address needs
    DULY_CONSOLE_TOKEN, which every request then carries; DULY_CONSOLE_READ_TOKEN may read only.
    """
    configure_log(log_level)
    return _role()(app.settings, host, port, os.environ, lambda *where: _announce(app, *where))


def _role() -> ConsoleRole:
    try:
        for entry in entry_points(group=GROUP, name="console"):
            return cast(ConsoleRole, entry.load())
    except ImportError as error:
        raise RoleMissing("the console needs more than this installation has: pip install 'duly[console]'") from error
    raise RoleMissing("the console is not part of this installation; install duly again")


def _announce(app: App, host: str, port: int) -> None:
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    click.echo(json.dumps({"url": url, "pid": os.getpid()}) if app.json else f"duly console on {url} (Ctrl+C stops it)")
    sys.stdout.flush()
