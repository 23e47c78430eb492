"""What all tiers share: stores on fakeredis, on Valkey, and on Redis where the environment names a server."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import fakeredis
import pytest
import time_machine

from duly.common.settings import Settings
from duly.common.store import Store
from duly.common.store.connection import connect
from tests import servers

FAKE_START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
BACKENDS = ["fake", "valkey", *(["redis"] if servers.redis_binary() else [])]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped: each reason once, however many they are."""
    skipped = [report.longrepr for report in terminalreporter.getreports("skipped")]
    reasons = Counter(longrepr[2].removeprefix("Skipped: ") for longrepr in skipped if isinstance(longrepr, tuple))
    for reason, number in reasons.items():
        terminalreporter.write_line(f"{number} skipped: {reason}")


@dataclass
class Backend:
    """A store's server: how to reach it, and how to let time pass on it."""

    name: str
    client: Any
    url: str | None
    advance: Callable[[int], None]
    """Let this many milliseconds pass: moved on fakeredis, waited for on a server (keep them few)."""

    def store(self, **settings: Any) -> Store:
        """A store with its own connection; settings as in `Settings`."""
        if self.url is None:
            return Store(self.client, Settings(**settings), shebang=False)
        settings = {"redis_url": self.url, **settings}
        return Store.connect(Settings(**settings))


@pytest.fixture(scope="session")
def server_ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], int]]:
    """The ports of the real servers, each started when it is first wanted."""
    import contextlib

    with contextlib.ExitStack() as stack:
        ports: dict[str, int] = {}

        def port_of(name: str) -> int:
            if name not in ports:
                binary = servers.valkey_binary() if name == "valkey" else servers.redis_binary()
                assert binary is not None
                folder = tmp_path_factory.mktemp(name)
                ports[name] = stack.enter_context(servers.running(binary, folder))
            return ports[name]

        yield port_of


@pytest.fixture(autouse=True)
def _log_level() -> Iterator[None]:
    """A command sets the level of the log for its process, which is that of all tests."""
    before = logging.getLogger().level
    yield
    logging.getLogger().setLevel(before)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, server_ports: Callable[[str], int]) -> Iterator[Backend]:
    """The same test on every kind of server."""
    if request.param == "fake":
        yield from fake_backend()
    else:
        yield from real_backend(request.param, server_ports(request.param))


@pytest.fixture
def fake() -> Iterator[Backend]:
    """fakeredis with a clock that the test moves: whole days in milliseconds."""
    yield from fake_backend()


@pytest.fixture
def valkey(server_ports: Callable[[str], int]) -> Iterator[Backend]:
    """A real Valkey, for what only a real server can show."""
    yield from real_backend("valkey", server_ports("valkey"))


def fake_backend() -> Iterator[Backend]:
    with time_machine.travel(FAKE_START_MS / 1000, tick=False) as traveller:
        client = fakeredis.FakeRedis(decode_responses=True)
        yield Backend("fake", client, None, lambda ms: traveller.shift(ms / 1000))
        client.flushall()


def real_backend(name: str, port: int) -> Iterator[Backend]:
    import time

    url = f"redis://127.0.0.1:{port}/0"
    client = connect(url)
    client.flushall()
    yield Backend(name, client, url, lambda ms: time.sleep(ms / 1000))
    client.flushall()
    client.close()


@pytest.fixture
def unreachable_url() -> str:
    """A URL on which nothing answers."""
    return f"redis://127.0.0.1:{servers.free_port()}/0"
