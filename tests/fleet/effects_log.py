"""The effects log: the outside world of the fleet's tests, which many processes write and which are killed as they do.

Linux copies what is written page by page, shows each part at once and lets a SIGKILL end the writing between two of
them. So every line has one length, of which a page holds a whole number: it is there as a whole, or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENVIRONMENT = "FLEET_TEST_EFFECTS"
LINE_BYTES = 512


def text(fields: Mapping[str, Any]) -> str:
    """The fields as a line of the log, without its end."""
    written = json.dumps(fields)
    assert len(written) < LINE_BYTES, f"a line of the effects log holds {LINE_BYTES - 1} bytes: {written}"
    return written.ljust(LINE_BYTES - 1)


def append(path: Path, fields: Mapping[str, Any]) -> None:
    """Add a line in one write."""
    log = os.open(path, os.O_APPEND | os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(log, f"{text(fields)}\n".encode())
    finally:
        os.close(log)


def read(path: Path) -> list[dict[str, Any]]:
    """All lines, as they were written."""
    return [json.loads(line) for line in path.read_text().splitlines()]
