"""The console's pages on a store that the test holds in its hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fakeredis
import pytest
from fastapi.testclient import TestClient

from duly.common.identity import Occurrence
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from duly.scheduler.control.security import Access
from tests.acceptance.conftest import live_in
from tests.conftest import Backend
from tests.console.reading import Page
from tests.store.conftest import Bench

BASE = "http://127.0.0.1:8787"


@dataclass
class Console:
    """A browser without scripts: it loads pages, follows redirects, and sends the forms it was shown."""

    client: TestClient

    def get(self, path: str, status: int = 200) -> Page:
        reply = self.client.get(path)
        assert reply.status_code == status, (path, reply.status_code, reply.text[:2000])
        return Page.of(reply)

    def post(self, path: str, fields: dict[str, str], status: int = 200) -> Page:
        """Send fields as a form, and go where that leads."""
        reply = self.client.post(path, data=fields)
        assert reply.status_code == status, (path, reply.status_code, Page.of(reply).text[:3000])
        return Page.of(reply)

    def send(self, page: Page, action: str, status: int = 200, **fields: str) -> Page:
        """Fill in the form of a page, and send it."""
        return self.post(action, {**page.form(action), **fields}, status)


def console_on(store: Store, access: Access | None = None, **options: Any) -> Console:
    client = TestClient(create_app(store, access=access), base_url=BASE, raise_server_exceptions=False, **options)
    return Console(client)


@pytest.fixture
def server() -> fakeredis.FakeServer:
    """The store's server, which the test may take away."""
    return fakeredis.FakeServer()


@pytest.fixture
def bench(fake: Backend, server: fakeredis.FakeServer) -> Bench:
    """The fleet behind the pages."""
    client = fakeredis.FakeRedis(server=server, decode_responses=True)
    backend = Backend("fake", client, None, fake.advance)
    return Bench(backend, backend.store())


@pytest.fixture
def console(bench: Bench) -> Iterator[Console]:
    made = console_on(bench.store)
    with made.client:
        yield made


@pytest.fixture
def lived_in(bench: Bench) -> Occurrence:
    """A store in which something of everything has happened; the held occurrence of 'docs'."""
    return live_in(bench)
