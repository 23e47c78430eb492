"""All schedules, in pages: where each stands, and what became of its latest ticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from duly.common.explain import cursors
from duly.common.explain.presence import present
from duly.common.explain.workers import missing
from duly.common.identity import SCHEDULE_ID
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store import Store
from duly.common.store.searching import Wanted
from duly.scheduler.control.console.site import Site
from duly.scheduler.control.console.strips import LENGTH, Strip, tick_strip

PAGE = 25
HISTORY = 200
STATES = tuple(state.value for state in ScheduleState)

Text = Annotated[str, Query(max_length=200)]
State = Annotated[str, Query(max_length=20)]
Cursor = Annotated[str | None, Query(max_length=200)]


def wanted_of(text: str, state: str) -> Wanted:
    """What an address asks for; a state that there is not is none."""
    return Wanted(text.strip(), ScheduleState(state) if state in STATES else None)


@dataclass(frozen=True, slots=True)
class Row:
    """One schedule of the list."""

    record: ScheduleRecord
    strip: Strip
    warning: str | None
    """What no worker that is there does and the schedule needs."""


@dataclass(frozen=True, slots=True)
class View:
    """One page of the list. ``looked_at``: how many schedules were looked through; None when none had to be."""

    now_ms: int
    wanted: Wanted
    rows: list[Row]
    cursor: str | None
    next_cursor: str | None
    after: str
    looked_at: int | None

    @property
    def first_page(self) -> bool:
        return not self.after

    @property
    def first_link(self) -> str:
        return self._link("/schedules")

    @property
    def next_link(self) -> str | None:
        return self.next_cursor and self._link("/schedules", cursor=self.next_cursor)

    @property
    def live(self) -> str:
        """What to listen to: the schedules of this very page."""
        if self.wanted.anything:
            return f"/live?{urlencode({'listed': self.after})}"
        return self._link("/live", cursor=self.cursor or "")

    def _link(self, path: str, **more: str) -> str:
        asked = {"q": self.wanted.text, "state": self.wanted.state or "", **more}
        query = urlencode({name: value for name, value in asked.items() if value})
        return path + (f"?{query}" if query else "")


def register(router: APIRouter, site: Site) -> None:
    def schedules(
        request: Request,
        q: Text = "",
        state: State = "",
        cursor: Cursor = None,
        deleted: Annotated[str, Query(max_length=64)] = "",
    ) -> Response:
        site.reader(request)
        view = look(site.store, wanted_of(q, state), cursor)
        gone = deleted if SCHEDULE_ID.fullmatch(deleted) else None
        return site.page(request, "schedules.html", now_ms=view.now_ms, view=view, states=STATES, deleted=gone)

    router.get("/schedules")(schedules)


def look(store: Store, wanted: Wanted, cursor: str | None = None) -> View:
    """The view, in a bounded number of commands however many schedules there are."""
    kind = cursors.SCHEDULES if wanted.anything else cursors.FOUND
    after = kind.decode(cursor) or ""
    looked_at = None
    if wanted.anything:
        records, following = store.schedules.page(PAGE, after)
    else:
        records, following, looked_at = store.search.page(wanted, PAGE, after)
    # An empty page, as a search that goes on finds, has nothing that a worker could be missing for.
    there = present(store.fleet.snapshot()["workers"]) if records else []
    rows = [Row(each, _strip(store, each.schedule_id), _warning(each, there)) for each in records]
    return View(store.schedules.now_ms(), wanted, rows, cursor, kind.encode(following), after, looked_at)


def _warning(record: ScheduleRecord, there: Sequence[Mapping[str, Any]]) -> str | None:
    return missing(there, record.definition.task, record.definition.queue)


def _strip(store: Store, schedule_id: str) -> Strip:
    events, _ = store.trails.events(schedule_id, LENGTH)
    runs, _ = store.trails.runs(schedule_id, HISTORY)
    return tick_strip(events, runs)
