"""One tick explained: what happened, what was decided and from what, and whether that still comes out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from duly.common.cli import words
from duly.common.cli.absence import explain_absence, timeline_of
from duly.common.cli.occurrence import released_by_whom
from duly.common.cli.options import read_tick
from duly.common.cli.recompute import misfit_of
from duly.common.contract import decide
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store
from duly.scheduler.control.console.judging import (
    Claimant,
    Judged,
    Recomputed,
    claimants,
    judged,
    last_judged,
    recomputed,
)
from duly.scheduler.control.console.site import Site

AS_IT_STANDS = "Evidence as it stands now"
_DONE = {
    "resolved": "Resolved.",
    "again": "This was recorded before; nothing was changed.",
    "approved": "Approved; a worker runs it next.",
}


@dataclass(frozen=True, slots=True)
class View:
    """The tick at one instant; ``record`` is None where there is none, and ``explanation`` says why."""

    occurrence: Occurrence
    now_ms: int
    record: OccurrenceRecord | None
    explanation: str
    released_by: str | None
    judged: Judged | None
    recomputed: Sequence[Recomputed]
    misfit: str | None
    sides: Sequence[Claimant]
    timeline: Sequence[RunEvent]
    events: Sequence[EnqueueEvent]

    @property
    def same(self) -> bool:
        """Whether every decision comes out as it was recorded, and fits the record."""
        return self.misfit is None and all(each.same for each in self.recomputed)


def register(router: APIRouter, site: Site) -> None:
    def occurrence(request: Request, schedule_id: str, tick: str, done: str = "") -> Response:
        site.reader(request)
        view = look(site.store, Occurrence(check_schedule_id(schedule_id), read_tick(tick)))
        return site.page(request, "occurrence.html", now_ms=view.now_ms, view=view, notice=_DONE.get(done))

    router.get("/schedules/{schedule_id}/ticks/{tick}")(occurrence)


def look(store: Store, occurrence: Occurrence) -> View:
    """The view; raises OccurrenceNotFound where there neither was nor will be such a tick."""
    record = store.attempts.find(occurrence)
    timeline = timeline_of(store, occurrence)
    now_ms = store.schedules.now_ms()
    if record is None:
        absence = explain_absence(store, occurrence, timeline)
        ahead = None if absence.case is None else judged(AS_IT_STANDS, absence.case, decide(absence.case))
        return View(occurrence, now_ms, None, absence.explanation, None, ahead, (), None, (), timeline, absence.events)
    return View(
        occurrence,
        now_ms,
        record,
        words.state(record, now_ms),
        released_by_whom(store, record, now_ms),
        last_judged(record) or judged(AS_IT_STANDS, store.attempts.evidence(occurrence).case(), None),
        recomputed(record.decisions),
        misfit_of(record) if record.decisions else None,
        claimants(record),
        timeline,
        (),
    )
