"""Whether a worker that runs could take what a schedule makes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from duly.common.explain.text import one_line
from duly.common.records.definition import ScheduleDefinition
from duly.common.store import Store

_NAMED = 5


def unknown(store: Store, definition: ScheduleDefinition) -> str | None:
    """What no running worker does that the schedule needs; None when one does, none runs, or none says."""
    return missing(store.fleet.snapshot()["workers"], definition.task, definition.queue)


def missing(processes: Sequence[Mapping[str, Any]], task: str, queue: str) -> str | None:
    """The same, from the processes of the fleet. Workers that do not say what they do are taken to do anything."""
    workers = [each for each in processes if isinstance(each.get("queues"), list)]
    if not workers:
        return None
    listening = [each for each in workers if queue in each["queues"]]
    if not listening:
        return f"no running worker listens on queue '{queue}' ({_listed('queues', workers, queue)})"
    if any(not isinstance(each.get("tasks"), list) for each in workers):
        return None
    if not any(task in each["tasks"] for each in workers):
        return f"no running worker knows task '{task}' ({_listed('tasks', workers, task)})"
    if not any(task in each["tasks"] for each in listening):
        return f"no running worker that listens on queue '{queue}' knows task '{task}'"
    return None


def _listed(what: str, workers: Iterable[Mapping[str, Any]], wanted: str) -> str:
    """Some of the names there are, those like the wanted one first."""
    names = sorted({str(name) for each in workers for name in each[what]})
    near = difflib.get_close_matches(wanted, names, n=_NAMED)
    shown = [*near, *[name for name in names if name not in near]]
    more = ", ..." if len(shown) > _NAMED else ""
    return one_line(f"known: {', '.join(shown[:_NAMED]) or 'none'}{more}")
