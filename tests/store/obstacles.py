"""What can come between the resolution of a hold and the catch-up that was asked for with it."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.errors import StoreUnavailable
from duly.common.records.schedule import ScheduleRecord
from duly.common.store.schedules import ScheduleStore
from tests.store.conftest import Bench

OBSTACLES = {
    "paused": "is paused",
    "changed": "was changed meanwhile",
    "unusable": "is stored in a form that cannot be used",
    "away": "is not known",
}
"""Each with what is said of it."""


def put_in_the_way(obstacle: str, bench: Bench, monkeypatch: pytest.MonkeyPatch, schedule_id: str = "docs") -> None:
    """Let the obstacle stand in the way of the next release."""
    if obstacle == "paused":
        bench.store.schedules.pause(schedule_id, "not now")
    elif obstacle == "changed":
        _edit_after_the_next_look(bench, monkeypatch)
    elif obstacle == "unusable":
        bench.backend.client.hset(bench.store.keys.schedule(schedule_id), "definition", "{}")
    else:
        monkeypatch.setattr(ScheduleStore, "release", _away)


def _edit_after_the_next_look(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    look = ScheduleStore._at_revision

    def overtaken(self: ScheduleStore, schedule_id: str, revision: int | None) -> ScheduleRecord:
        record = look(self, schedule_id, revision)
        monkeypatch.setattr(ScheduleStore, "_at_revision", look)
        bench.store.schedules.update(schedule_id, {"overlap": "allow"})
        return record

    monkeypatch.setattr(ScheduleStore, "_at_revision", overtaken)


def _away(*_: Any, **__: Any) -> None:
    raise StoreUnavailable("Redis could not be reached")
