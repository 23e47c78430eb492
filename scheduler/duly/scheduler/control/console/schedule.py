"""One schedule: where it stands, what comes, what was, and what can be done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from duly.common.explain import cursors
from duly.common.explain.presence import present
from duly.common.explain.ticks import Tick, next_ticks
from duly.common.explain.trails import find_schedule
from duly.common.explain.workers import missing
from duly.common.identity import canonical_json, check_schedule_id
from duly.common.instant import to_ms
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.records.trail import ChangeEvent, EnqueueEvent, RunEvent
from duly.common.store import Store
from duly.common.store.schedule_reader import UnusableSchedule
from duly.common.store.schedules import latest_missed
from duly.scheduler.control.console.catching_up import given_tick
from duly.scheduler.control.console.failing import Failure
from duly.scheduler.control.console.forms import Given
from duly.scheduler.control.console.once import new_key
from duly.scheduler.control.console.site import Site
from duly.scheduler.control.console.strips import LENGTH, Strip, tick_strip
from duly.scheduler.control.console.timeline import Run, runs_of

Cursor = Annotated[str | None, Query(max_length=200)]

UPCOMING = 10
RUNS_SHOWN = 20
EVENTS_SHOWN = 20
CHANGES_SHOWN = 20
HISTORY_PAGE = 200
MOST_HISTORY = 1_000
"""How many transitions are looked through for runs."""
LONGEST_ARGUMENTS = 2_000
_DONE = {
    "paused": "Paused. Its ticks are not due until it is resumed.",
    "resumed": "Resumed.",
    "created": "The schedule is written.",
    "updated": "The change is made.",
    "unchanged": "Nothing was changed: all fields held these values already.",
    "nothing-missed": "Nothing was released: no tick was missed.",
}
_MADE = {"run": "Enqueued", "replayed": "Enqueued before", "released": "Released"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Where each list of the page begins, by the cursors of pages before; None for the newest."""

    runs: str | None = None
    events: str | None = None
    changes: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The schedule at one instant; ``record`` is None when it was deleted or cannot be used: its past is left."""

    schedule_id: str
    now_ms: int
    record: ScheduleRecord | None
    unusable: UnusableSchedule | None
    """Why there is no record of a schedule that is there."""
    warning: str | None
    ticks: Sequence[Tick]
    strip: Strip
    runs: Sequence[Run]
    events: Sequence[EnqueueEvent]
    changes: Sequence[ChangeEvent]
    settings: Sequence[tuple[str, str]]
    asked: Asked
    older: Asked
    """Where each list goes on; None where there is nothing older."""
    history_cut: bool
    """Whether there are transitions that were not looked through."""
    missed_ms: int | None
    """The tick that its quarantine skipped and that may still be run; None where there is none."""


def register(router: APIRouter, site: Site) -> None:
    def schedule(
        request: Request,
        schedule_id: str,
        done: str = "",
        tick: str = "",
        runs: Cursor = None,
        events: Cursor = None,
        changes: Cursor = None,
    ) -> Response:
        site.reader(request)
        asked = Asked(runs, events, changes)
        return show(site, request, schedule_id, asked, notice=_DONE.get(done), made=_made(done, tick))

    router.get("/schedules/{schedule_id}")(schedule)


def show(
    site: Site,
    request: Request,
    schedule_id: str,
    asked: Asked = Asked(),
    *,
    notice: str | None = None,
    made: tuple[str, int] | None = None,
    failure: Failure | None = None,
    given: Mapping[str, str] | None = None,
) -> Response:
    """The page; after an action that was refused, with why and what was given."""
    view = look(site.store, schedule_id, asked)
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


def look(store: Store, schedule_id: str, asked: Asked = Asked()) -> View:
    """The view; raises ScheduleNotFound where there is neither a schedule nor a past."""
    record, unusable = find_schedule(store, check_schedule_id(schedule_id))
    snapshot = store.fleet.snapshot()
    now_ms = to_ms(snapshot["now"], "now")
    latest, _ = store.trails.events(schedule_id, LENGTH)
    history, history_cut = _history(store, schedule_id)
    before = cursors.TICKS.decode(asked.runs)
    runs, older_runs = runs_of(history, now_ms, RUNS_SHOWN, None if before is None else int(before))
    events, older_events = store.trails.events(schedule_id, EVENTS_SHOWN, cursors.EVENTS.decode(asked.events))
    changes, older_changes = store.trails.changes(schedule_id, CHANGES_SHOWN, cursors.CHANGES.decode(asked.changes))
    definition = None if record is None else record.definition
    return View(
        schedule_id,
        now_ms,
        record,
        unusable,
        None if definition is None else missing(present(snapshot["workers"]), definition.task, definition.queue),
        [] if definition is None else next_ticks(definition.timetable, now_ms, UPCOMING),
        tick_strip(latest, history),
        runs,
        events,
        changes,
        [] if record is None else _settings(record),
        asked,
        Asked(
            cursors.TICKS.encode(None if older_runs is None else str(older_runs)),
            cursors.EVENTS.encode(older_events),
            cursors.CHANGES.encode(older_changes),
        ),
        history_cut,
        None if record is None else _missed(record, latest, now_ms),
    )


def _missed(record: ScheduleRecord, newest_first: Sequence[EnqueueEvent], now_ms: int) -> int | None:
    """What a release would run, where one is asked for: after a quarantine."""
    if record.held or record.state is not ScheduleState.ACTIVE or record.carry:
        return None
    tick_ms = latest_missed(record, now_ms)
    skipped = (each for each in newest_first if each.reason == "quarantined")
    by_quarantine = tick_ms is not None and any(e.first_tick_ms <= tick_ms <= e.last_tick_ms for e in skipped)
    return tick_ms if by_quarantine else None


def _history(store: Store, schedule_id: str) -> tuple[list[RunEvent], bool]:
    """The latest transitions, newest first, and whether there are older ones."""
    found, cursor = store.trails.runs(schedule_id, HISTORY_PAGE)
    while cursor is not None and len(found) < MOST_HISTORY:
        page, cursor = store.trails.runs(schedule_id, HISTORY_PAGE, cursor)
        found += page
    return found, cursor is not None


def _made(done: str, tick: str) -> tuple[str, int] | None:
    """The run that an action made, from the address that it led to."""
    tick_ms, word = given_tick(tick), _MADE.get(done)
    return None if tick_ms is None or word is None else (word, tick_ms)


def _settings(record: ScheduleRecord) -> list[tuple[str, str]]:
    definition = record.definition.model_dump(mode="json")
    shown = ["queue", "overlap", "max_lateness_ms", "jitter_window_ms", "lease_ttl_ms", "timeout_ms", "retry_budget"]
    shown += ["backoff", "approval", "start_at", "end_at", "args", "kwargs"]
    return [(name, _written(definition[name])) for name in shown if definition[name] not in (None, [], {})]


def _written(value: Any) -> str:
    text = str(value) if isinstance(value, str | int) else canonical_json(value)
    return text if len(text) <= LONGEST_ARGUMENTS else f"{text[:LONGEST_ARGUMENTS]} ..."
