"""All schedules, in pages: where each stands, and what became of its latest ticks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from duly.common.cli import cursors
from duly.common.errors import ScheduleNotFound
from duly.common.identity import SCHEDULE_ID
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store import Store
from duly.scheduler.control.console.site import Site
from duly.scheduler.control.console.strips import LENGTH, Strip, tick_strip

PAGE = 25
BATCH = 250
MOST_LOOKED_AT = 1_000
"""How many schedules one request looks through for those that were asked for."""
HISTORY = 200
STATES = tuple(state.value for state in ScheduleState)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the reader wants to see."""

    text: str = ""
    state: str = ""

    @property
    def anything(self) -> bool:
        return not self.text and not self.state

    def wants(self, record: ScheduleRecord) -> bool:
        definition = record.definition
        named = f"{record.schedule_id} {definition.task} {definition.queue} {definition.review_owner}".casefold()
        return self.text.casefold() in named and self.state in {"", record.state.value}

    def link(self, cursor: str | None = None) -> str:
        asked = {"q": self.text, "state": self.state, "cursor": cursor or ""}
        query = urlencode({name: value for name, value in asked.items() if value})
        return "/schedules" + (f"?{query}" if query else "")


@dataclass(frozen=True, slots=True)
class Row:
    """One schedule of the list."""

    record: ScheduleRecord
    strip: Strip


@dataclass(frozen=True, slots=True)
class View:
    """One page of the list. ``looked_at``: how many schedules were looked through; None when none had to be."""

    now_ms: int
    asked: Asked
    rows: list[Row]
    next_link: str | None
    after: str
    looked_at: int | None

    @property
    def first_page(self) -> bool:
        return not self.after

    @property
    def live(self) -> str:
        """What to listen to: the schedules of the page itself, unless they had to be looked for."""
        return f"/live?{urlencode({'listed': self.after})}" if self.asked.anything else "/live"


def register(router: APIRouter, site: Site) -> None:
    def schedules(
        request: Request,
        q: Annotated[str, Query(max_length=200)] = "",
        state: Annotated[str, Query(max_length=20)] = "",
        cursor: Annotated[str | None, Query(max_length=200)] = None,
        deleted: Annotated[str, Query(max_length=64)] = "",
    ) -> Response:
        site.reader(request)
        view = look(site.store, Asked(q.strip(), state if state in STATES else ""), cursor)
        gone = deleted if SCHEDULE_ID.fullmatch(deleted) else None
        return site.page(request, "schedules.html", now_ms=view.now_ms, view=view, states=STATES, deleted=gone)

    router.get("/schedules")(schedules)


def look(store: Store, asked: Asked, cursor: str | None = None) -> View:
    """The view, in a bounded number of commands however many schedules there are."""
    after = cursors.decode(cursor, cursors.SCHEDULE)
    looked_at = None
    if asked.anything:
        records, next_after = store.schedules.page(PAGE, after or "")
    else:
        records, next_after, looked_at = _search(store, asked, after or "")
    if asked.text and cursor is None:
        records = _first(store, asked, records)
    rows = [Row(record, _strip(store, record.schedule_id)) for record in records]
    next_link = None if next_after is None else asked.link(cursors.encode(next_after))
    return View(store.schedules.now_ms(), asked, rows, next_link, after or "", looked_at)


def _search(store: Store, asked: Asked, after: str) -> tuple[list[ScheduleRecord], str | None, int]:
    found, looked_at = list[ScheduleRecord](), 0
    while looked_at < MOST_LOOKED_AT:
        batch, following = store.schedules.page(BATCH, after)
        for record in batch:
            looked_at += 1
            if asked.wants(record):
                found.append(record)
                if len(found) == PAGE:
                    more = following is not None or record is not batch[-1]
                    return found, record.schedule_id if more else None, looked_at
        if following is None:
            return found, None, looked_at
        after = following
    return found, after, looked_at


def _first(store: Store, asked: Asked, found: list[ScheduleRecord]) -> list[ScheduleRecord]:
    """What was found, after the schedules whose ids are or begin with what was typed: they may stand far behind."""
    if not SCHEDULE_ID.fullmatch(asked.text):
        return found
    near = [record for record in _beginning_with(store, asked.text) if asked.wants(record)]
    known = {record.schedule_id for record in near}
    return [*near, *(record for record in found if record.schedule_id not in known)]


def _beginning_with(store: Store, text: str) -> Iterator[ScheduleRecord]:
    with contextlib.suppress(ScheduleNotFound):
        yield store.schedules.get(text)
    for record in store.schedules.page(10, text)[0]:
        if record.schedule_id.startswith(text):
            yield record


def _strip(store: Store, schedule_id: str) -> Strip:
    events, _ = store.trails.events(schedule_id, LENGTH)
    runs, _ = store.trails.runs(schedule_id, HISTORY)
    return tick_strip(events, runs)
