"""Whole `duly` programs as a user runs them, and a look at what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

DULY = [sys.executable, "-c", "from duly.common.cli import main; main()"]


@dataclass
class Programs:
    """Starts programs in one folder and remembers them, so that a test that fails leaves none behind."""

    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Where they run."""
        return self.folder / "home"

    @property
    def temp(self) -> Path:
        """Where they put temporary files."""
        return self.folder / "temp"

    def start(self, *words: str, log: Path, **environ: str) -> subprocess.Popen[bytes]:
        """Start `duly` without a terminal; its output goes to ``log``."""
        self.home.mkdir(exist_ok=True)
        self.temp.mkdir(exist_ok=True)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("DULY_")}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*DULY, *words],
                cwd=self.home,
                env=kept | {"TMPDIR": str(self.temp), "COLUMNS": "200"} | environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kill what still runs; the fleets below die with it."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def left(self, seconds: float = 20) -> list[str]:
        """Processes that work in the folder or were started with its name, after some patience."""
        until(lambda: not left_in(self.folder), seconds)
        return left_in(self.folder)


def wait_for(log: Path, text: str, process: subprocess.Popen[bytes], seconds: float = 90) -> None:
    """Wait until the log holds a whole line with ``text``; fails when the process ends before it does."""

    def written() -> bool:
        # What is being written is seen in parts: the rest of the line may still be to come.
        return text in log.read_text("utf-8", "replace").rpartition("\n")[0]

    seen = until(lambda: written() or process.poll() is not None, seconds)
    assert seen, f"'{text}' did not come"
    assert written(), log.read_text("utf-8", "replace")


def until(true: Callable[[], bool], seconds: float) -> bool:
    """Whether it became true in time."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True


def left_in(folder: Path) -> list[str]:
    """Processes that work in a folder or were started with its name, this one aside."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
            variables = (entry / "environ").read_bytes().decode("utf-8", "replace")
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        if str(folder) in f"{words} {variables} {place}":
            found.append(words)
    return found
