"""Whether a process of the fleet is there, and what it does, as every surface says it. Pure.

A process that ends says so. One that is killed cannot: it stays listed, with what it did last, until the store forgets
it. Its own last word is therefore no evidence of what it does now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from duly.common.explain.text import duration
from duly.common.store.fleet import BEAT_MS

UNSEEN_AFTER_MS = 2 * BEAT_MS + 2_000
"""Two beats missed, and the time that a beat takes on its way."""
UNSEEN = "unseen"


def is_there(process: Mapping[str, Any]) -> bool:
    """Whether it was seen lately enough to be counted. ``process``: as the fleet's snapshot has it."""
    return int(process["seen_ms_ago"]) <= UNSEEN_AFTER_MS


def present(processes: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that are there."""
    return [each for each in processes if is_there(each)]


def state(process: Mapping[str, Any], holder: str | None) -> str:
    """What it does: `unseen` when nobody can know, and `holding` only for the process that the duty names."""
    if not is_there(process):
        return UNSEEN
    said = str(process.get("state") or "-")
    if process["name"] == holder and process.get("role") == "scheduler":
        return "holding"
    return "standby" if said == "holding" else said


def told_fleet(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The fleet's snapshot with the state of every process as `state` has it, for `duly fleet` and the API."""
    holder = snapshot["duty"]["holder"]
    return {**snapshot, "workers": [{**each, "state": state(each, holder)} for each in snapshot["workers"]]}


def state_in_words(process: Mapping[str, Any], holder: str | None) -> str:
    """The same for a reader: ``not seen for 40 s``."""
    found = state(process, holder)
    return f"not seen for {duration(process['seen_ms_ago'])}" if found == UNSEEN else found
