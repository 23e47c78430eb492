"""Names of workers, and of the attempts' owners that are made of them: made and read here and nowhere else. Pure but
for the token source.

A worker has the name that `duly fleet` shows (``vm-7``); RQ knows one start of it by an instance's name
(``vm-7.5be66f``). The owner of a lease is one process of an instance (``vm-7.5be66f@2836``), or one turn of it
(``vm-7.5be66f@2836.12``).
"""

from __future__ import annotations

import re

from duly.common.identity import new_token

_START = r"\.[0-9a-f]{6}"
_INSTANCE = re.compile(rf".+{_START}", re.ASCII)
_OWNER = re.compile(rf"(?P<name>.+?)({_START})?(@\d+(\.\d+)?)?", re.ASCII)


def new_instance(name: str) -> str:
    """What RQ is to know the worker by: another name with every start."""
    return f"{name}.{new_token()[:6]}"


def is_instance(rq_name: str) -> bool:
    """Whether RQ knows a worker by a name that a duly worker gives itself."""
    return _INSTANCE.fullmatch(rq_name) is not None


def owner_name(instance: str, pid: int, turn: int | None = None) -> str:
    """The owner of the leases that a process takes, or that it takes in one of its turns."""
    return f"{instance}@{pid}" if turn is None else f"{instance}@{pid}.{turn}"


def fleet_name(owner: str | None) -> str:
    """The name in `duly fleet` of the worker behind an owner; a hyphen without an owner."""
    found = _OWNER.fullmatch(owner or "")
    return found["name"] if found else owner or "-"
