"""Who is there."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems
from duly.scheduler.control.guard import API
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Fleet

router = APIRouter(prefix=API, tags=["fleet"])


@router.get("/fleet", response_model=Fleet, responses=problems(), operation_id="show_fleet")
def fleet(store: Reading) -> Response:
    """The duty holder, the processes of the fleet, their queues, and how far behind the sweep is."""
    return JSON(store.fleet.snapshot())
