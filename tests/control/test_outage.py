"""Redis away, and back: 503 at once meanwhile, and nothing to be started again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest
from anyio import to_thread

from duly.common.clock import SystemClock
from duly.common.settings import Settings
from duly.common.store import Store
from tests import servers
from tests.control.conftest import DOCS, ORIGIN, Api, make, problem
from tests.store.conftest import Bench

pytestmark = pytest.mark.server


def test_a_store_that_is_away_is_503_at_once_and_its_return_is_noticed_by_itself(tmp_path: Path) -> None:
    port = servers.free_port()
    store = Store.connect(Settings(redis_url=f"redis://127.0.0.1:{port}/0"), socket_timeout_s=2.0)
    api = Api(make(store))
    _away(api)
    for name in ("before", "after"):
        with servers.running(servers.valkey_binary(), tmp_path, port=port):
            assert api.get("/healthz")["status"] == "ok"
            assert api("POST", "periodic", json={**DOCS, "schedule_id": name}).status_code == 201
        _away(api)


def test_a_store_that_does_not_answer_is_given_up_after_the_connections_time_out() -> None:
    """A listener that accepts and says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        api = Api(make(Store.connect(Settings(redis_url=url), socket_timeout_s=0.2)))
        clock = SystemClock()
        asked_ms = clock.monotonic_ms()
        problem(api("GET", "periodic"), 503, "store_unavailable")
        assert clock.monotonic_ms() - asked_ms < 5_000


def _away(api: Api) -> None:
    for method, path in (("GET", "/healthz"), ("GET", "periodic"), ("GET", "/metrics"), ("DELETE", "periodic/docs")):
        response = api(method, path)
        found = problem(response, 503, "store_unavailable")
        assert "127.0.0.1" not in found["detail"]
        assert response.headers["retry-after"] == "1"
    assert api("POST", "preview", json={"spec": "0 9 * * *"}).status_code == 200


def test_those_who_wait_for_the_store_do_not_keep_its_state_from_being_asked(bench: Bench) -> None:
    app = make(bench.store)

    async def ask() -> int:
        limiter = to_thread.current_default_thread_limiter()
        for each in range(int(limiter.total_tokens)):
            limiter.acquire_on_behalf_of_nowait(each)
        transport = httpx2.ASGITransport(app)
        async with asyncio.timeout(10), httpx2.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            return (await client.get("/healthz")).status_code

    assert asyncio.run(ask()) == 200
