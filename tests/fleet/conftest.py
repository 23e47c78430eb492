"""A server of its own for each test of the fleet, and fleets on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.harness import Fleet, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server that the test may end and start again."""
    folder = tmp_path / "server"
    folder.mkdir()
    running = Server(folder)
    yield running
    running.end()


@pytest.fixture(params=["warm", "isolated"])
def new_fleet(request: pytest.FixtureRequest, tmp_path: Path, server: Server) -> Iterator[Callable[..., Fleet]]:
    """Makes fleets on the server; settings as in `Settings`. In both modes, with the same promises."""
    with contextlib.ExitStack() as stack:

        def make(name: str = "fleet", **settings: Any) -> Fleet:
            return stack.enter_context(
                contextlib.closing(Fleet(tmp_path / name, server.url, settings, request.param == "isolated"))
            )

        yield make


@pytest.fixture
def fleet(new_fleet: Callable[..., Fleet]) -> Fleet:
    """A fleet with nothing running yet."""
    return new_fleet()
