"""One schedule: where it stands, what comes, what was, and what can be done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from duly.common.cli.schedule.known import missing
from duly.common.errors import ScheduleNotFound
from duly.common.identity import canonical_json, check_schedule_id
from duly.common.instant import to_ms
from duly.common.records.schedule import ScheduleRecord
from duly.common.records.trail import ChangeEvent, EnqueueEvent
from duly.common.store import Store
from duly.scheduler.control.console.failing import Failure
from duly.scheduler.control.console.forms import Given
from duly.scheduler.control.console.once import new_key
from duly.scheduler.control.console.site import Site
from duly.scheduler.control.console.strips import LENGTH, Strip, tick_strip
from duly.scheduler.control.console.ticks import Tick, next_ticks
from duly.scheduler.control.console.timeline import Run, runs_of

UPCOMING = 10
RUNS_SHOWN = 20
EVENTS_SHOWN = 20
CHANGES_SHOWN = 20
HISTORY = 200
LONGEST_ARGUMENTS = 2_000
_DONE = {
    "paused": "Paused. Its ticks are not due until it is resumed.",
    "resumed": "Resumed.",
    "created": "The schedule is written.",
    "updated": "The change is made.",
    "unchanged": "Nothing was changed: all fields held these values already.",
    "nothing-missed": "Nothing was released: no tick was missed.",
}


@dataclass(frozen=True, slots=True)
class View:
    """The schedule at one instant; ``record`` is None when it was deleted and only its past is left."""

    schedule_id: str
    now_ms: int
    record: ScheduleRecord | None
    warning: str | None
    ticks: Sequence[Tick]
    strip: Strip
    runs: Sequence[Run]
    events: Sequence[EnqueueEvent]
    changes: Sequence[ChangeEvent]
    settings: Sequence[tuple[str, str]]


def register(router: APIRouter, site: Site) -> None:
    def schedule(request: Request, schedule_id: str, done: str = "", tick: str = "") -> Response:
        site.reader(request)
        return show(site, request, schedule_id, notice=_DONE.get(done), made=_made(done, tick))

    router.get("/schedules/{schedule_id}")(schedule)


def show(
    site: Site,
    request: Request,
    schedule_id: str,
    *,
    notice: str | None = None,
    made: tuple[str, int] | None = None,
    failure: Failure | None = None,
    given: Mapping[str, str] | None = None,
) -> Response:
    """The page; after an action that was refused, with why and what was given."""
    view = look(site.store, schedule_id)
    return site.page(
        request,
        "schedule.html",
        now_ms=view.now_ms,
        status=200 if failure is None else failure.status,
        view=view,
        keys={name: new_key() for name in ("run", "pause", "resume", "release", "delete")},
        notice=notice,
        made=made,
        failure=failure,
        given=Given(given or {}),
    )


def look(store: Store, schedule_id: str) -> View:
    """The view; raises ScheduleNotFound where there is neither a schedule nor a past."""
    record = _find(store, check_schedule_id(schedule_id))
    snapshot = store.fleet.snapshot()
    now_ms = to_ms(snapshot["now"], "now")
    events, _ = store.trails.events(schedule_id, LENGTH)
    runs, _ = store.trails.runs(schedule_id, HISTORY)
    changes, _ = store.trails.changes(schedule_id, CHANGES_SHOWN)
    definition = None if record is None else record.definition
    return View(
        schedule_id,
        now_ms,
        record,
        None if definition is None else missing(snapshot["workers"], definition.task, definition.queue),
        [] if definition is None else next_ticks(definition.timetable, now_ms, UPCOMING),
        tick_strip(events, runs),
        runs_of(runs, now_ms, RUNS_SHOWN),
        events[:EVENTS_SHOWN],
        changes,
        [] if record is None else _settings(record),
    )


def _find(store: Store, schedule_id: str) -> ScheduleRecord | None:
    try:
        return store.schedules.get(schedule_id)
    except ScheduleNotFound:
        if store.trails.has_trail(schedule_id) or store.trails.changes(schedule_id, 1)[0]:
            return None
        raise


def _made(done: str, tick: str) -> tuple[str, int] | None:
    """The run that an action made, from the address that it led to."""
    if done not in {"run", "replayed", "released"} or not (tick.isascii() and tick.isdigit() and len(tick) <= 15):
        return None
    return {"run": "Enqueued", "replayed": "Enqueued before", "released": "Released"}[done], int(tick)


def _settings(record: ScheduleRecord) -> list[tuple[str, str]]:
    definition = record.definition.model_dump(mode="json")
    shown = ["queue", "overlap", "max_lateness_ms", "jitter_window_ms", "lease_ttl_ms", "timeout_ms", "retry_budget"]
    shown += ["backoff", "approval", "start_at", "end_at", "args", "kwargs"]
    return [(name, _written(definition[name])) for name in shown if definition[name] not in (None, [], {})]


def _written(value: Any) -> str:
    text = str(value) if isinstance(value, str | int) else canonical_json(value)
    return text if len(text) <= LONGEST_ARGUMENTS else f"{text[:LONGEST_ARGUMENTS]} ..."
