"""The effect log of the demo's work: one line for each effect, appended in one write, which is the commit.

An entry names the attempt and the lease it was made under. The receiver is the second guard behind the lease: it
refuses a fencing token smaller than one it has seen, and knows an idempotency key it has served.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from duly.common.errors import DulyError


class StaleOwner(DulyError):
    """A newer owner was here already: the effect of this one is refused."""

    code = "stale_owner"


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect. ``repeated``: the idempotency key had been served, so nothing was done but to say so."""

    schedule_id: str
    tick_ms: int
    attempt: int
    fencing_token: int
    idempotency_key: str
    repeated: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class Journal:
    """The effects of one schedule, oldest first. Safe to use from several processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Effect]:
        """All effects; a line that a crash cut off is no effect."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return [Effect(**json.loads(line)) for line in text.split(b"\n")[:-1] if line]

    def append(self, effect: Effect) -> int:
        """Record an effect as it is; the number of its line, from 1."""
        with self._locked() as descriptor:
            return self._write(descriptor, effect)

    def commit(self, effect: Effect) -> tuple[int, Effect]:
        """Record an effect unless its key was served already; the line's number, and the effect that counts.

        Raises StaleOwner when an effect under a larger fencing token is recorded.
        """
        with self._locked() as descriptor:
            known = self.read()
            if any(each.fencing_token > effect.fencing_token for each in known):
                raise StaleOwner(f"fencing token {effect.fencing_token} is not the newest of {effect.schedule_id}")
            for each in known:
                if each.idempotency_key == effect.idempotency_key:
                    again = Effect(**{**asdict(effect), "repeated": True, "details": each.details})
                    return self._write(descriptor, again), each
            return self._write(descriptor, effect), effect

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._forget_torn_line(descriptor)
            yield descriptor
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, effect: Effect) -> int:
        os.write(descriptor, json.dumps(asdict(effect)).encode() + b"\n")
        os.fsync(descriptor)
        return self.path.read_bytes().count(b"\n")

    def _forget_torn_line(self, descriptor: int) -> None:
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.ftruncate(descriptor, whole)
