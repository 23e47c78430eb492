"""A real browser on real pages. Skipped with one line where there is no Chromium that could be started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from threading import Thread
from typing import Any

import fakeredis
import pytest
import uvicorn

from duly.common.identity import Occurrence
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from tests import servers
from tests.acceptance.conftest import live_in
from tests.conftest import Backend
from tests.store.conftest import Bench

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A Chromium without a window: the machine's own, or the one that playwright brought."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")
    binary = next((path for name in NAMES if (path := shutil.which(name))), None)
    with sync_api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        except sync_api.Error:
            pytest.skip("no Chromium is installed: apt-get install chromium, or playwright install chromium")
        yield browser
        browser.close()


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
    """A store in which something of everything has happened; the held occurrence of 'docs'."""
    import time_machine

    with time_machine.travel(1_767_225_600, tick=False) as traveller:
        monkeypatch.setattr(bench.backend, "advance", lambda ms: traveller.shift(ms / 1000))
        return live_in(bench)


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
        import socket
        import time

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
def page(chromium: Any) -> Iterator[Any]:
    """A tab; whatever its page complains about, the content policy included, fails the test."""
    yield from _tab(chromium, viewport={"width": 1200, "height": 800})


@pytest.fixture
def narrow(chromium: Any) -> Iterator[Any]:
    """The same, as narrow as a small telephone."""
    yield from _tab(chromium, viewport={"width": 380, "height": 800})


@pytest.fixture
def scriptless(chromium: Any) -> Iterator[Any]:
    """The same, with scripts turned off."""
    yield from _tab(chromium, java_script_enabled=False)


def _tab(chromium: Any, **options: Any) -> Iterator[Any]:
    context = chromium.new_context(**options)
    tab = context.new_page()
    tab.set_default_timeout(15_000)
    complaints: list[str] = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.append(said.text) if "Content Security Policy" in said.text else None)
    yield tab
    context.close()
    assert complaints == []
