"""Peers in an environment of their own: `.venv-peers` at the project's root, made when it is first wanted.

A peer that cannot be installed, or does not do what it is asked, is one line in the table's notes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import processes
from tests.benchmarks.measuring import NotMeasured

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peers"
LONGEST_S = 600.0


@dataclass(frozen=True)
class Peer:
    """``module``: the one of `tests.benchmarks.peers` that drives it. ``keeps``: what it leaves on record of a tick."""

    name: str
    requirements: tuple[str, ...]
    module: str
    keeps: str


PEERS = (
    Peer(
        "rq-scheduler",
        ("rq-scheduler>=0.14", "rq>=3.0,<4"),
        "with_rq_scheduler",
        "keeps each job and its next instant in Redis, under a lock; no history of ticks, one job for all of them",
    ),
    Peer(
        "celery redbeat",
        ("celery[redis]>=5.5", "celery-redbeat>=2.3"),
        "with_redbeat",
        "keeps each entry with its last run and its count in Redis, under a lock; no history",
    ),
    Peer(
        "APScheduler 3",
        ("apscheduler>=3.11,<4", "redis>=6.2"),
        "with_apscheduler",
        "keeps each job and its next instant in Redis; no lock, no history; runs a no-op on the spot, without a queue",
    ),
    Peer(
        "Huey",
        ("huey>=2.5", "redis>=6.2"),
        "with_huey",
        "keeps nothing: schedules live in the code, and what is due is what fits this minute",
    ),
    Peer(
        "SAQ",
        ("saq[redis]>=0.24",),
        "with_saq",
        "keeps the next job of each schedule in Redis, schedules live in the code; no history",
    ),
)
LEFT_OUT = "BullMQ's job schedulers are left out: they run on Node.js only"


@dataclass(frozen=True)
class PeerContestant:
    """A peer in `compare`: in each round a process of its own, which makes ``size`` schedules due and times itself."""

    peer: Peer
    url: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.peer.name}, {self.size:,}"

    def rate(self) -> float:
        python = environment(self.peer)
        processes.empty(self.url)
        command = [str(python), "-W", "ignore", "-m", f"tests.benchmarks.peers.{self.peer.module}"]
        done = _run([*command, self.url, str(self.size)], f"{self.peer.name} failed")
        try:
            reply = json.loads(done.splitlines()[-1])
            count, seconds = int(reply["count"]), float(reply["seconds"])
        except (IndexError, ValueError, KeyError, TypeError) as error:
            raise NotMeasured("its report cannot be read") from error
        if count != self.size:
            raise NotMeasured(f"it made {count:,} jobs of {self.size:,} due schedules")
        return count / seconds


def contestants(url: str, size: int) -> list[PeerContestant]:
    """All peers, each with ``size`` due schedules."""
    return [PeerContestant(peer, url, size) for peer in PEERS]


def environment(peer: Peer) -> Path:
    """The interpreter that can import the peer, which is installed if it is not yet. Raises NotMeasured."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / f".installed-{hashlib.sha256(' '.join(peer.requirements).encode()).hexdigest()[:16]}"
    if stamp.exists():
        return python
    print(f"Installing {peer.name} into {FOLDER.name} ...", file=sys.stderr)
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(FOLDER)], "no environment for peers can be made")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "1", "--timeout", "20"]
    _run([*pip, "--disable-pip-version-check", *peer.requirements], "it cannot be installed")
    stamp.touch()
    return python


def _run(command: list[str], complaint: str) -> str:
    """What the command printed; raises NotMeasured with the complaint and the last thing it said."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotMeasured(f"{complaint} ({type(error).__name__})") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise NotMeasured(f"{complaint} ({said[:200]})")
    return done.stdout
