"""What each peer's module is told, and what it prints."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit


def asked() -> tuple[str, int]:
    """The server's URL and how many schedules are to be due, from the command line."""
    return sys.argv[1], int(sys.argv[2])


def address(url: str) -> dict[str, Any]:
    """Host, port and database of a URL, for a library that takes no URL."""
    parts = urlsplit(url)
    return {"host": parts.hostname, "port": parts.port, "db": int(parts.path.lstrip("/") or 0)}


def timed(run: Callable[[], object]) -> float:
    """The seconds that it takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def report(count: int, seconds: float) -> None:
    """How many schedules became jobs, and in what time; the last thing that a module prints."""
    print(json.dumps({"count": count, "seconds": seconds}))
