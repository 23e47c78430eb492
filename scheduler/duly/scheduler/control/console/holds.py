"""The reviewer's inbox: what waits for a person, the longest waiting first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from duly.common.explain import cursors
from duly.common.explain.holds import why_waiting
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.store import Store
from duly.scheduler.control.console.site import Site

PAGE = 20
_DONE = {
    "resolved": "Resolved.",
    "again": "This resolution was recorded before.",
    "approved": "Approved; a worker runs it next.",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something a person is asked about."""

    record: OccurrenceRecord
    why: str


@dataclass(frozen=True, slots=True)
class View:
    """One page of the inbox."""

    now_ms: int
    total: int
    waiting: list[Waiting]
    next_cursor: str | None
    first_page: bool


def register(router: APIRouter, site: Site) -> None:
    def holds(
        request: Request, cursor: Annotated[str | None, Query(max_length=200)] = None, done: str = ""
    ) -> Response:
        site.reader(request)
        view = look(site.store, cursor)
        return site.page(request, "holds.html", now_ms=view.now_ms, view=view, notice=_DONE.get(done))

    router.get("/holds")(holds)


def look(store: Store, cursor: str | None = None) -> View:
    """The view, in a bounded number of commands."""
    records, after = store.holds.page(PAGE, cursors.HOLDS.decode(cursor) or "")
    waiting = [Waiting(record, why_waiting(record)) for record in records]
    total = store.holds.count() + store.holds.awaiting()
    return View(store.schedules.now_ms(), total, waiting, cursors.HOLDS.encode(after), cursor is None)
