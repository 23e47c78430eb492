"""Who is there."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from duly.common.explain.presence import told_fleet
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Fleet

router = APIRouter(prefix=API, tags=["fleet"])


@router.get("/fleet", response_model=Fleet, responses=problems(), operation_id="show_fleet")
def fleet(store: Reading) -> Response:
    """The duty holder, the processes of the fleet, their queues, and how far behind the sweep is.

    A process that was not seen for two of its beats has the state `unseen`: what it does now is unknown.
    """
    return JSON(told_fleet(store.fleet.snapshot()))
