"""`duly console` as a process: where it listens, what it refuses to do, how it stops."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from duly.common.process.local import DULY


@contextmanager
def console(*arguments: str, **environ: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process, and the address it announced."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DULY_")}
    command = [*DULY, "console", "--json", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**kept, **environ}
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            if process.poll() is None:
                process.kill()


def refusal(*arguments: str, **environ: str) -> str:
    """The one line with which the command ends."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DULY_")}
    command = [*DULY, "console", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env={**kept, **environ}, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


@pytest.mark.fleet
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_without_redis_and_stops_cleanly(unreachable_url: str, number: signal.Signals) -> None:
    with console("--port", "0", "--redis-url", unreachable_url) as (process, url):
        reply: Any = httpx2.get(f"{url}/healthz")
        assert (reply.status_code, reply.json()["code"]) == (503, "store_unavailable")
        assert "server" not in reply.headers
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.fleet
def test_on_an_address_that_others_reach_it_asks_for_its_token(unreachable_url: str) -> None:
    arguments = ("--host", "0.0.0.0", "--port", "0", "--redis-url", unreachable_url)
    with console(*arguments, DULY_CONSOLE_TOKEN="t") as (_, announced):
        url = announced.replace("0.0.0.0", "127.0.0.1")
        assert httpx2.get(f"{url}/openapi.json").status_code == 401
        assert httpx2.get(f"{url}/openapi.json", headers={"Authorization": "Bearer t"}).status_code == 200


def test_without_a_token_it_does_not_start_where_others_reach_it() -> None:
    assert "DULY_CONSOLE_TOKEN" in refusal("--host", "0.0.0.0", "--port", "0")
    assert "DULY_CONSOLE_TOKEN" in refusal("--host", "192.0.2.1", DULY_CONSOLE_TOKEN="")


def test_a_port_that_is_taken_and_a_host_that_is_none_are_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refusal("--port", str(taken.getsockname()[1]))
    assert "no address" in refusal("--host", "nowhere.invalid", DULY_CONSOLE_TOKEN="t")
