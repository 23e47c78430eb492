"""The console as a process of this machine, beside a fleet that does not need it.

Whatever keeps it from starting is one line for whoever started it, and no harm to the fleet.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError
from duly.common.process.local import LocalProcess

HOST = "127.0.0.1"
USUAL_PORT = 8787
START_TIMEOUT_MS = 30_000.0
STOP_GRACE_MS = 1_000.0
_POLL_S = 0.02
_SHORTER = {"role_missing": "its packages are not installed: pip install 'duly[console]'"}


class ConsoleRefused(DulyError):
    """The console did not start; the message says why."""

    code = "console_refused"


class LocalConsole(LocalProcess):
    """`duly console` on the loopback address; what it says goes to ``log``. `open` it first, `start` it again later."""

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path,
        port: int | None = None,
        *,
        cwd: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``port`` None takes the usual one, or a free one while somebody else has it; 0 takes a free one."""
        super().__init__("console", (), environment, log, cwd, clock or SystemClock())
        self._log = log
        self._port = port

    def open(self, given_up: Callable[[], bool] = lambda: False) -> str:
        """Start it and return its address once it can be reached; every later `start` has the same address.

        Raises ConsoleRefused, also when ``given_up`` says True before that; it does not run then.
        """
        said = self._try(USUAL_PORT if self._port is None else self._port, given_up)
        if self._port is None and said.get("code") == "cannot_listen":
            self.kill()  # it may be about to end, and two are never started
            said = self._try(0, given_up)
        if "url" not in said:
            self.kill()
            raise ConsoleRefused(_SHORTER.get(said["code"], said["message"]))
        self.words = _words(int(said["url"].rpartition(":")[2]))
        return str(said["url"])

    def stop(self) -> None:
        """Stop it. Pages that listen for changes would never end by themselves, and are cut off after a moment."""
        self.terminate()
        give_up_ms = self.clock.monotonic_ms() + STOP_GRACE_MS
        while self.alive and self.clock.monotonic_ms() < give_up_ms:
            time.sleep(_POLL_S)
        self.kill()

    def _try(self, port: int, given_up: Callable[[], bool]) -> dict[str, Any]:
        """What it said when it started: its ``url``, or a ``code`` and a ``message``."""
        self.words = _words(port)
        offset = self._log.stat().st_size if self._log.exists() else 0
        self.start()
        give_up_ms = self.clock.monotonic_ms() + START_TIMEOUT_MS
        while self.clock.monotonic_ms() < give_up_ms:
            # Asked before its log is read: the last thing that it says is not missed.
            ended = not self.alive
            for said in _announcements(self._log, offset):
                return dict(said.get("error", said))
            if ended:
                return {"code": "ended", "message": f"it ended while it started (see {self._log})"}
            if given_up():
                return {"code": "given_up", "message": "it was not waited for"}
            time.sleep(_POLL_S)
        return {"code": "late", "message": f"it did not start in time (see {self._log})"}


def _words(port: int) -> tuple[str, ...]:
    return ("console", "--json", "--host", HOST, "--port", str(port))


def _announcements(log: Path, offset: int) -> Iterator[dict[str, Any]]:
    """What was said for programs since: whole lines of JSON, among others for people."""
    with log.open("rb") as lines:
        lines.seek(offset)
        for line in lines:
            if line.startswith(b"{") and line.endswith(b"}\n"):
                yield json.loads(line)
