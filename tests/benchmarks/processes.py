"""Real processes of `duly` and of `rq` for benchmarks, and what they cost the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import redis

from duly.common.settings import Settings
from tests import servers
from tests.fleet.processes import descendants

ROOT = Path(__file__).parents[2]
STOP_S = 20.0
EMPTY_S = 600.0
LONG_MS = 3_600_000


def undisturbed(url: str, size: int = 0, **others: Any) -> Settings:
    """Settings under which nothing but what is measured comes due.

    The duty is not lost while a fleet of ``size`` is written, its queue takes it all, and what was dispatched is not
    looked at again.
    """
    queue_limit = max(size, Settings().queue_limit)
    return Settings(redis_url=url, queue_limit=queue_limit, redelivery_ms=LONG_MS, duty_ttl_ms=LONG_MS, **others)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The URL of a Valkey of one's own, without persistence, so that the disk has no say."""
    with tempfile.TemporaryDirectory() as folder, servers.running(servers.valkey_binary(), Path(folder)) as port:
        yield f"redis://127.0.0.1:{port}/0"


def empty(url: str) -> None:
    """Forget everything in the database, before this returns: freeing a large fleet later would be measured."""
    with redis.Redis.from_url(url, socket_timeout=EMPTY_S) as client:
        client.flushdb()


@contextlib.contextmanager
def running(*command: str, **settings: object) -> Iterator[int]:
    """A command of this environment, such as ``duly`` or ``rq``, or a module with ``-m``; gives its process id.

    ``settings`` are those of `duly.common.settings.Settings`. It is stopped, and awaited, at the end.
    """
    found = [sys.executable, *command] if command[0] == "-m" else [str(Path(sys.executable).parent / command[0])]
    words = found if command[0] == "-m" else [*found, *command[1:]]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DULY_", "RQ_"))}
    environment |= {f"DULY_{name.upper()}": str(value) for name, value in settings.items()}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        left = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def pss_mb(pid: int) -> float:
    """Megabytes that a process costs the machine: what several share is counted in parts (PSS). Linux only.

    A process that has ended costs nothing.
    """
    try:
        return pss_kib(Path(f"/proc/{pid}/smaps_rollup").read_text()) * 1024 / 1e6
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def pss_kib(smaps_rollup: str) -> int:
    """The proportional set size in a process's `smaps_rollup`, in KiB; 0 where there is none, as of a zombie."""
    return next((int(line.split()[1]) for line in smaps_rollup.splitlines() if line.startswith("Pss:")), 0)


def settled_pss_mb(pids: Callable[[], Iterable[int]], longest_s: float = 10.0) -> float:
    """What these processes cost once that has stopped moving: two looks in a row agree within 1 %.

    ``pids`` is asked at each look, since a work-horse may just be ending.
    """
    end, before = time.monotonic() + longest_s, -1.0
    while True:
        now = sum(map(pss_mb, pids()))
        if abs(now - before) <= now / 100 or time.monotonic() > end:
            return now
        before = now
        time.sleep(0.5)


def available_gb() -> float:
    """Memory that this machine could give at once, in gigabytes. Linux only."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) / 1e6 * 1.024
