"""A small real updater: watches documents, and reports what changed since the last committed look.

``docs.refresh`` is idempotent. Its state is the last entry of a journal; an entry is one atomic append, refused
when its fencing token is older than one recorded, and a key that was served is not served again. What was seen
lies beside it in snapshots named by their content, written before the entry that refers to them. The journal
keeps every look, as evidence: it is made to be tried, not to run for years.

``docs.publish`` hands the state of the documents to readers, which nobody can take back: it is unsafe, has no
memory of what it did, and an unknown outcome of it is held.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from duly.common.demo.journal import Effect, Journal
from duly.common.identity import canonical_json
from duly.worker import Run, current_run, task

SUFFIXES = {".md", ".toml", ".txt", ".rst", ".cfg", ".ini", ".yaml", ".yml", ".lua", ".py"}
NAMES = {"Makefile", "Dockerfile", "LICENSE"}
SKIPPED = {"node_modules", "build", "dist"}
MAX_FILES = 500
MAX_BYTES = 1_000_000
DEFAULT_STATE = ".duly/documents"

Snapshot: TypeAlias = dict[str, dict[str, Any]]


@task("docs.refresh", effects="idempotent")
def refresh(folder: str = ".", state: str = DEFAULT_STATE, pace_ms: int = 0) -> None:
    """Look at every document under ``folder`` and commit what changed since the last look.

    ``state``: where journals and snapshots are kept. ``pace_ms``: a pause after each file, to be gentle.
    """
    run = current_run()
    kept = State(Path(state), run.schedule_id)
    seen = look(Path(folder), pace_ms)
    changes = compare(kept.last_snapshot(), seen)
    details = {"snapshot": kept.keep(seen), "files": len(seen), "changes": changes}
    run.check_lease()
    line, effect = kept.journal.commit(_effect(run, details))
    run.set_result_ref(f"{kept.journal.path.name}:{line} {summary(effect.details)}")


@task("docs.publish", effects="unsafe")
def publish(folder: str = ".", state: str = DEFAULT_STATE, pace_ms: int = 0) -> None:
    """Send the readers a note on the documents as they are: one line in the outbox, each time it is called."""
    run = current_run()
    seen = look(Path(folder), pace_ms)
    outbox = Journal(Path(state) / f"{run.schedule_id}.jsonl")
    run.check_lease()
    line = outbox.append(_effect(run, {"files": len(seen), "digest": _digest(canonical_json(seen).encode())[:16]}))
    run.set_result_ref(f"{outbox.path.name}:{line} note sent")


@dataclass(frozen=True, slots=True)
class State:
    """What one schedule remembers between its runs."""

    folder: Path
    schedule_id: str

    @property
    def journal(self) -> Journal:
        return Journal(self.folder / f"{self.schedule_id}.jsonl")

    def last_snapshot(self) -> Snapshot | None:
        """What the last committed look saw; None before the first."""
        # A repeated entry speaks of an earlier look.
        looks = [effect for effect in self.journal.read() if not effect.repeated]
        if not looks:
            return None
        path = self._snapshot_path(looks[-1].details["snapshot"])
        loaded: Snapshot = json.loads(path.read_text("ascii"))
        return loaded

    def keep(self, snapshot: Snapshot) -> str:
        """Write a snapshot under the name of its content, and return the name."""
        text = canonical_json(snapshot).encode()
        name = _digest(text)[:32]
        path = self._snapshot_path(name)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(text)
            draft.replace(path)
        return name

    def _snapshot_path(self, name: str) -> Path:
        return self.folder / "snapshots" / f"{name}.json"


def look(folder: Path, pace_ms: int = 0) -> Snapshot:
    """Digest and lines (as short hashes) of every document under ``folder``, by its relative path."""
    seen: Snapshot = {}
    for path in documents(folder):
        content = path.read_bytes()
        lines = [_digest(line)[:8] for line in content.splitlines()]
        seen[path.relative_to(folder).as_posix()] = {"sha256": _digest(content), "lines": lines}
        if pace_ms:
            time.sleep(pace_ms / 1000)
    return seen


def documents(folder: Path) -> list[Path]:
    """The documents under ``folder``, sorted; hidden folders, environments and build products are none."""
    found: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")) and name not in SKIPPED)
        paths = [Path(parent, name) for name in sorted(names) if name in NAMES or Path(name).suffix in SUFFIXES]
        found += [path for path in paths if path.is_file() and path.stat().st_size <= MAX_BYTES]
        if len(found) >= MAX_FILES:
            break
    return sorted(found[:MAX_FILES])


def compare(before: Snapshot | None, after: Snapshot) -> dict[str, list[int]]:
    """For each file that changed, came or went: lines added and lines removed. Nothing before: no changes."""
    if before is None:
        return {}
    changes = {}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or old["sha256"] != new["sha256"]:
            gone, come = Counter(old["lines"] if old else []), Counter(new["lines"] if new else [])
            changes[name] = [(come - gone).total(), (gone - come).total()]
    return changes


def summary(details: Any) -> str:
    """One short line: ``README.md +2 -0``, or ``no change in 14 files``."""
    changes = details["changes"]
    if not changes:
        files = details["files"]
        return f"no change in {files} file{'' if files == 1 else 's'}"
    shown = [f"{name} +{added} -{removed}" for name, (added, removed) in list(changes.items())[:5]]
    return ", ".join(shown) + (f" and {len(changes) - 5} more" if len(changes) > 5 else "")


def _effect(run: Run, details: dict[str, Any]) -> Effect:
    return Effect(run.schedule_id, run.tick_ms, run.attempt, run.fencing_token, run.idempotency_key, details=details)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
