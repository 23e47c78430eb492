"""The work that the fleet's tests run. Every effect is one line of the effects log.

What stands in it happened, whatever the store believes.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from duly.worker import current_run, task
from duly.worker import probe as probing
from tests.fleet import effects_log


def note(kind: str) -> None:
    """Append one line about the current attempt."""
    effects_log.append(_log(), _line(kind))


def work(before_ms: int = 0, after_ms: int = 0) -> None:
    """Begin, wait, have one effect, wait, end."""
    note("began")
    time.sleep(before_ms / 1000)
    note("effect")
    time.sleep(after_ms / 1000)
    note("ended")


def probe(idempotency_key: str) -> str:
    """Looks where the effect would be."""
    lines = effects_log.read(_log())
    found = any(line["kind"] == "effect" and line["idempotency_key"] == idempotency_key for line in lines)
    effects_log.append(_log(), _stamped(kind="probed", idempotency_key=idempotency_key))
    return "COMMITTED" if found else "NO_COMMITTED_RESULT"


def unsure_probe(idempotency_key: str) -> str:
    raise ConnectionError("the probe cannot tell")


def hanging_probe(_idempotency_key: str) -> str:
    # Half a minute is too long for a test; what ends a probe is the same.
    time.sleep(probing.PROBE_TIMEOUT_MS)
    return "NO_COMMITTED_RESULT"


probing.PROBE_TIMEOUT_MS = 700.0
task("fleet.idempotent", effects="idempotent")(work)
task("fleet.guarded", effects="guarded", probe=probe)(work)
task("fleet.guarded_unsure", effects="guarded", probe=unsure_probe)(work)
task("fleet.guarded_hanging", effects="guarded", probe=hanging_probe)(work)
task("fleet.unsafe")(work)


@task("fleet.failing", effects="idempotent")
def failing(while_exists: str) -> None:
    """Fails for as long as a file exists."""
    note("began")
    if Path(while_exists).exists():
        raise RuntimeError("the file is there")
    note("effect")


@task("fleet.holding_on")
def holding_on() -> None:
    """Swallows what it can swallow by habit."""
    note("began")
    while True:
        try:
            time.sleep(60)
        except Exception:  # noqa: BLE001 - the habit under test
            note("swallowed")


@task("fleet.stubborn")
def stubborn() -> None:
    """Swallows everything."""
    note("began")
    while True:
        try:
            time.sleep(60)
        except BaseException:  # noqa: BLE001 - the malice under test
            note("swallowed")


@task("fleet.stuck")
def stuck() -> None:
    """Waits in C and keeps the interpreter to itself: no thread and no handler of this process runs."""
    note("began")
    ctypes.PyDLL(None).sleep(60)
    note("effect")


@task("fleet.delegating")
def delegating(before_ms: int) -> None:
    """Has its effect through a process that it starts, as tasks around a command-line tool do."""
    note("began")
    line = effects_log.text(_line("effect"))
    script = f"sleep {before_ms / 1000}; echo '{line}' >> '{_log()}'"
    subprocess.run(["sh", "-c", script], check=True)


@task("fleet.piping", effects="idempotent")
def piping(before_ms: int) -> None:
    """The same behind a pipe: who waits for the shell does not know of what the shell started."""
    note("began")
    line = effects_log.text(_line("effect"))
    script = f"(sleep {before_ms / 1000}; echo '{line}' >> '{_log()}') | cat"
    subprocess.run(script, shell=True, check=True)


@task("fleet.exiting", effects="unsafe")
def exiting(words: str) -> None:
    """Leaves in a way that says nothing of its effect."""
    note("began")
    sys.exit(words)


def ordinary(label: str) -> str:
    """A plain RQ job."""
    effects_log.append(_log(), _stamped(kind="ordinary", label=label))
    return label


def _line(kind: str) -> dict[str, Any]:
    """What identifies the current attempt."""
    run = current_run()
    return _stamped(
        kind=kind,
        schedule_id=run.schedule_id,
        tick_ms=run.tick_ms,
        attempt=run.attempt,
        fencing_token=run.fencing_token,
        idempotency_key=run.idempotency_key,
    )


def _stamped(**fields: Any) -> dict[str, Any]:
    return {"pid": os.getpid(), "wall_ms": time.time_ns() / 1e6, "mono_ms": time.monotonic_ns() / 1e6, **fields}


def _log() -> Path:
    return Path(os.environ[effects_log.ENVIRONMENT])
