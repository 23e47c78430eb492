"""Whether this process can serve; the one route that needs no token."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Health

router = APIRouter(tags=["fleet"])


@router.get("/healthz", response_model=Health, responses=problems(), operation_id="health")
def health(store: Reading) -> Response:
    """200 while the store answers, 503 while it does not."""
    store.schedules.now_ms()
    return JSON({"status": "ok", "store": "ok"})
