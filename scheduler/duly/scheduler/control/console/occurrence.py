"""One tick explained: what happened, what was decided and from what, and whether that still comes out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from duly.common.explain.occurrence import Explained, explain_occurrence
from duly.common.explain.recompute import Recomputed, recomputed
from duly.common.explain.ticks import read_tick
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.store import Store
from duly.scheduler.control.console import catching_up
from duly.scheduler.control.console.claimants import Claimant, claimants
from duly.scheduler.control.console.site import Site

_DONE = {
    "resolved": "Resolved.",
    "again": "This was recorded before; nothing was changed.",
    "approved": "Approved; a worker runs it next.",
    "refused": "Refused: it never runs.",
}


@dataclass(frozen=True, slots=True)
class View:
    """The tick at one instant; ``recomputed`` is None where it has no record."""

    told: Explained
    recomputed: Recomputed | None
    sides: Sequence[Claimant]


def register(router: APIRouter, site: Site) -> None:
    def occurrence(
        request: Request, schedule_id: str, tick: str, done: str = "", catch_up: str = "", caught: str = ""
    ) -> Response:
        site.reader(request)
        view = look(site.store, Occurrence(check_schedule_id(schedule_id), read_tick(tick)))
        return site.page(
            request,
            "occurrence.html",
            now_ms=view.told.now_ms,
            view=view,
            notice=_notice(view, done),
            caught_up=catching_up.of_query(catch_up, caught),
        )

    router.get("/schedules/{schedule_id}/ticks/{tick}")(occurrence)


def look(store: Store, occurrence: Occurrence) -> View:
    """The view; raises OccurrenceNotFound where there neither was nor will be such a tick."""
    told = explain_occurrence(store, occurrence)
    if told.record is None:
        return View(told, None, ())
    return View(told, recomputed(told.record), claimants(told.record))


def _notice(view: View, done: str) -> str | None:
    """What was just done, told so that it is not taken for how the tick stands by now."""
    record = view.told.record
    if done == "resolved" and record is not None and record.hold_reason:
        return "Your resolution is on record. After it, the occurrence was held again, as the timeline shows."
    return _DONE.get(done)
