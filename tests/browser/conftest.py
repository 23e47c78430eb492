"""A real browser on real pages. Where there is none, the tests are skipped with one line.

DULY_TEST_BROWSER=required makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, NoReturn

import fakeredis
import pytest
import time_machine
import uvicorn

from duly.common.identity import Occurrence
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from tests import servers
from tests.acceptance.conftest import live_in
from tests.conftest import Backend
from tests.store.conftest import Bench

# What `live_in` takes: an hour, and up to a minute until the first tick.
LIVED_S = 3_661
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A Chromium without a window: the machine's own.

    For one module only: while it is there, its event loop runs in this thread, and other tests need one of their own.
    """
    try:
        from playwright import sync_api
    except ImportError:
        _without_browser("playwright is not installed: make test EXTRAS=browser")
    binary = next((path for name in NAMES if (path := shutil.which(name))), None)
    if binary is None:
        _without_browser("there is no Chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        # Without its sandbox, which root may not have. The pages are our own.
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield browser
        browser.close()


def _without_browser(why: str) -> NoReturn:
    if os.environ.get("DULY_TEST_BROWSER") == "required":
        pytest.fail(f"DULY_TEST_BROWSER=required, and {why}", pytrace=False)
    pytest.skip(why)


@pytest.fixture
def server() -> fakeredis.FakeServer:
    """The store's server, which the test may take away."""
    return fakeredis.FakeServer()


@pytest.fixture
def bench(server: fakeredis.FakeServer) -> Bench:
    """The fleet behind the pages; its clock is the machine's."""
    backend = Backend("fake", fakeredis.FakeRedis(server=server, decode_responses=True), None, lambda ms: None)
    return Bench(backend, backend.store())


@pytest.fixture
def lived_in(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Occurrence:
    """A store in which something of everything has happened, none of it expired; the held occurrence of 'docs'."""
    with time_machine.travel(time.time() - LIVED_S, tick=False) as traveller:
        monkeypatch.setattr(bench.backend, "advance", lambda ms: traveller.shift(ms / 1000))
        held = live_in(bench)
    bench.store.fleet.beat("host-1.1", {"role": "worker", "state": "idle", "queues": ["default"], "pid": 1})
    return held


@pytest.fixture
def site(bench: Bench) -> Iterator[str]:
    """The address of the pages, served by a thread of this process."""
    with serving(bench.store) as address:
        yield address


class serving:  # noqa: N801 - reads as a word
    """The pages of a store, served while the block runs."""

    def __init__(self, store: Store, **options: Any) -> None:
        self._port = servers.free_port()
        config = uvicorn.Config(
            create_app(store, **options),
            host="127.0.0.1",
            port=self._port,
            log_config=None,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    break
            time.sleep(0.05)
        return f"http://127.0.0.1:{self._port}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    """What the console of the browser said about the pages of the test."""
    made = Complaints()
    yield made
    assert made.unexpected() == []


@pytest.fixture
def page(chromium: Any, site: str, complaints: Complaints) -> Iterator[Any]:
    """A tab, closed before the site is; whatever the browser complains about in it fails the test."""
    yield from _tab(chromium, complaints, viewport={"width": 1200, "height": 800})


@pytest.fixture
def narrow(chromium: Any, site: str, complaints: Complaints) -> Iterator[Any]:
    """The same, as narrow as a small telephone."""
    yield from _tab(chromium, complaints, viewport={"width": 380, "height": 800})


@pytest.fixture
def scriptless(chromium: Any, site: str, complaints: Complaints) -> Iterator[Any]:
    """The same, with scripts turned off."""
    yield from _tab(chromium, complaints, java_script_enabled=False)


@dataclass
class Complaints:
    """Errors and warnings of pages, the content policy's included; some are part of what a test shows."""

    said: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, text: str) -> None:
        """A complaint that holds this text is none."""
        self.expected.append(text)

    def take(self, message: Any) -> None:
        """What the browser wrote on its console, and about which address."""
        if message.type in {"error", "warning"}:
            self.said.append(f"{message.text} {message.location['url']}")

    def unexpected(self) -> list[str]:
        return [said for said in self.said if not any(text in said for text in self.expected)]


def _tab(chromium: Any, complaints: Complaints, **options: Any) -> Iterator[Any]:
    context = chromium.new_context(**options)
    tab = context.new_page()
    tab.set_default_timeout(15_000)
    tab.on("pageerror", lambda error: complaints.said.append(str(error)))
    tab.on("console", complaints.take)
    yield tab
    context.close()


def wait_for(page: Any, selector: str, text: str = "") -> None:
    """Wait until something that the selector finds shows the text."""
    page.locator(selector).filter(has_text=text).first.wait_for()
