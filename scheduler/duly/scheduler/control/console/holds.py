"""The reviewer's inbox: what waits for a person, the longest waiting first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from duly.common.cli import cursors
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.store import Store
from duly.scheduler.control.console.judging import why_held
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
    offset = int(cursors.decode(cursor, cursors.OFFSET) or 0)
    records, after = store.holds.page(PAGE, offset)
    waiting = [Waiting(record, why_held(record)) for record in records]
    return View(store.schedules.now_ms(), store.holds.count(), waiting, cursors.encode(after), cursor is None)
