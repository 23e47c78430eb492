"""Forms that are carried out once, however often they are sent."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock

from duly.common.identity import canonical_json

KEPT = 1_000


def new_key() -> str:
    """What a form is known by; made with the form."""
    return secrets.token_urlsafe(12)


@dataclass
class _Slot:
    lock: Lock = field(default_factory=Lock)
    location: str | None = None


class DoneForms:
    """Where each of the latest forms led.

    A second click finds the answer to the first, also while the first is still on its way. What this process has
    forgotten the store refuses by itself, since a form carries the revision or version that its reader saw.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._slots: OrderedDict[tuple[str, str], _Slot] = OrderedDict()

    def do(self, path: str, fields: Mapping[str, str], action: Callable[[], str]) -> str:
        """Where the form leads: what ``action`` returns, asked for once. An action that raises may be tried again.

        A form that was changed and sent again, after going back, is another form: the store judges it.
        """
        if not fields.get("key"):
            return action()
        name = (path, hashlib.sha256(canonical_json(dict(fields)).encode()).hexdigest())
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
            self._slots.move_to_end(name)
            while len(self._slots) > KEPT:
                self._slots.popitem(last=False)
        with slot.lock:
            if slot.location is None:
                slot.location = action()
            return slot.location
