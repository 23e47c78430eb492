"""What waits for a reviewer, and what the reviewer says."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from duly.common.errors import Refused
from duly.common.explain import cursors
from duly.common.explain.holds import told_hold
from duly.common.explain.resolution import catch_up_latest, explained_refusal
from duly.common.identity import Occurrence
from duly.common.store.holds import Resolution, Waiting
from duly.scheduler.control.app import Changing, Reading
from duly.scheduler.control.document import Cursor, Limit, ScheduleId, TickMs, problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Approved, Approving, HoldPage, Resolved, Resolving

router = APIRouter(prefix=f"{API}/holds", tags=["holds"])

Kind = Annotated[Waiting | None, Query(description="Only holds, or only runs to approve.")]


@router.get("", response_model=HoldPage, responses=problems(400, 422), operation_id="list_holds")
def listed(store: Reading, kind: Kind = None, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """Holds, then runs to be approved; the longest waiting first."""
    page, after = store.holds.page(limit, cursors.HOLDS.decode(cursor) or "", kind)
    orphaned = store.holds.orphaned(page)
    told = [told_hold(each, orphaned=each.occurrence in orphaned) for each in page]
    return JSON({"holds": told, "next_cursor": cursors.HOLDS.encode(after)})


@router.post(
    "/{schedule_id}/{tick_ms}/resolve",
    response_model=Resolved,
    responses=problems(404, 409, body=True),
    operation_id="resolve_hold",
)
def resolve(store: Changing, schedule_id: ScheduleId, tick_ms: TickMs, body: Resolving) -> Response:
    """Say what is true of a held occurrence. The same resolution twice is one.

    With `catch_up` `latest` the latest tick that the hold kept from running runs too, unless something else of the
    schedule forbids it; `catch_up` in the reply says so.
    """
    asked = Occurrence(schedule_id, tick_ms)
    outcome = Resolution(body.outcome)
    try:
        state, again = store.holds.resolve(asked, outcome, body.by, body.evidence, body.extra_attempts, seen=body.seen)
    except Refused as refused:
        raise explained_refusal(store, asked, refused) from refused
    caught_up = catch_up_latest(store, asked) if body.catch_up == "latest" else None
    return JSON(
        {
            "schedule_id": schedule_id,
            "tick_ms": tick_ms,
            "state": state.value,
            "replayed": again,
            "catch_up_tick_ms": caught_up and caught_up.tick_ms,
            "catch_up": caught_up and caught_up.said,
        }
    )


@router.post(
    "/{schedule_id}/{tick_ms}/approve",
    response_model=Approved,
    responses=problems(404, 409, body=True),
    operation_id="approve_run",
)
def approve(store: Changing, schedule_id: ScheduleId, tick_ms: TickMs, body: Approving) -> Response:
    """Let a run happen that waits for its reviewer, who alone may say so. The same approval twice is one."""
    again = store.holds.approve(Occurrence(schedule_id, tick_ms), body.by)
    return JSON({"schedule_id": schedule_id, "tick_ms": tick_ms, "approved_by": body.by.strip(), "replayed": again})
