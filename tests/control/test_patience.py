"""Connections that are opened and never ask: each is closed in time, and whoever asks is served."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from threading import Thread

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from duly.scheduler.control import patience
from duly.scheduler.control.patience import Impatient

HEAD_S = 0.3
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def _slow(scope: Scope, receive: Receive, send: Send) -> None:
    """An answer that takes longer than a connection may be silent."""
    await asyncio.sleep(HEAD_S * 3)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(patience, "HEAD_S", HEAD_S)
    server = uvicorn.Server(uvicorn.Config(_slow, http=Impatient, log_config=None, log_level="error", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(10)


def trickle(client: socket.socket, text: bytes) -> bytes:
    """Send a byte now and then until the other side answers or closes; what it said."""
    client.settimeout(HEAD_S / 10)
    for _ in range(100):
        try:
            client.sendall(text)
            return client.recv(1_000)
        except TimeoutError:
            continue
        except OSError:
            return b""
    raise AssertionError("it waits for ever")


@pytest.mark.parametrize("text", [b"", b"x"], ids=["silent", "a byte now and then"])
def test_a_connection_that_never_asks_is_closed(port: int, text: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nX: " if text else b"")
        assert trickle(client, text) == b""


def test_an_answer_may_take_longer_and_the_next_request_has_its_own_time(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        for _ in range(2):
            client.sendall(REQUEST)
            assert client.recv(1_000).startswith(b"HTTP/1.1 204")
        client.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert trickle(client, b"x") == b""
