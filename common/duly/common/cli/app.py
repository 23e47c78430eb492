"""What every command shares: the output format, the settings and the store."""

from __future__ import annotations

import dataclasses
import getpass
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import click

from duly.common.settings import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from duly.common.store import Store


HURRY_S = 0.5


def _connect(settings: Settings, **options: Any) -> Store:
    from duly.common.store import Store

    return Store.connect(settings, **options)


def _actor() -> str:
    """Who changes something through this invocation: ``cli ann@host``, as far as the machine says."""
    try:
        who = f"cli {getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        who = "cli"
    return "".join(char for char in who if char.isprintable())[:200]


def _address(url: str) -> str:
    """``host:port/db``, and whether with TLS; or the path of a socket."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port or 6379
    except ValueError:
        return "an address that cannot be read"
    database = parse_qs(parts.query).get("db", [""])[0]
    if parts.scheme == "unix":
        return parts.path + (f" database {database}" if database else "")
    host = f"[{host}]" if ":" in host else host
    securely = " with TLS" if parts.scheme == "rediss" else ""
    return f"{host}:{port}/{database or parts.path.strip('/') or 0}{securely}"


@dataclass
class App:
    """One invocation. ``connect`` opens its store, at the first use of `store`.

    ``hurried``: somebody waits at a key; a store that does not answer in half a second is given up.
    """

    connect: Callable[..., Store] = _connect
    json: bool = False
    redis_url: str | None = None
    hurried: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The environment's settings under the options of this invocation; raises InvalidField."""
        settings = Settings.from_environment()
        return settings if self.redis_url is None else dataclasses.replace(settings, redis_url=self.redis_url)

    @cached_property
    def store(self) -> Store:
        options = {"socket_timeout_s": HURRY_S} if self.hurried else {}
        return self.connect(self.settings, **options).acting_as(_actor())

    def tried(self) -> str:
        """Where the store was looked for, without credentials; empty while no command has asked for one."""
        if "settings" not in vars(self):
            return ""
        address = _address(self.settings.redis_url)
        if self.redis_url is not None:
            return f"tried {address}"
        return f"tried {address}, as neither --redis-url nor DULY_REDIS_URL is given; 'duly up' brings its own store"

    def now_ms(self) -> int:
        """The store's clock."""
        return self.store.schedules.now_ms()

    def show(self, payload: Mapping[str, Any], draw: Callable[[], RenderableType]) -> None:
        """Print the result: ``payload`` as JSON if that was asked for, else what ``draw`` makes of it."""
        if self.json:
            click.echo(json.dumps(payload, indent=2))
        else:
            from duly.common.cli.output import write

            write(draw())


pass_app = click.make_pass_decorator(App, ensure=True)
