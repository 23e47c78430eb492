"""What `events` and `runs` share: pages of the past of one schedule."""

from __future__ import annotations

from duly.common.cli.text import count
from duly.common.errors import ScheduleNotFound
from duly.common.identity import check_schedule_id
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store


def check_known(store: Store, schedule_id: str) -> None:
    """Raises ScheduleNotFound for an id under which there is neither a schedule nor a trail."""
    check_schedule_id(schedule_id)
    if not store.schedules.exists(schedule_id) and not store.trails.has_trail(schedule_id):
        raise ScheduleNotFound(schedule_id)


def what_happened(event: RunEvent) -> str:
    """The transition, and its reason where it has one."""
    return event.event if not event.reason else f"{event.event}: {event.reason}"


def repeated(event: EnqueueEvent) -> str | None:
    """How many ticks a record speaks for, or how often it was repeated."""
    if event.count == 1:
        return None
    return count(event.count, "tick") if event.outcome == "skipped" else f"{event.count} times"
