"""Whether this process can serve; the one route that needs no token."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from duly.scheduler.control.app import Reading, control_of
from duly.scheduler.control.document import problems
from duly.scheduler.control.problems import JSON
from duly.scheduler.control.schemas import Health

router = APIRouter(tags=["fleet"])


@router.get("/healthz", response_model=Health, responses=problems(), operation_id="health")
async def health(request: Request, store: Reading) -> Response:
    """200 while the store answers, 503 while it does not."""
    await to_thread.run_sync(store.schedules.now_ms, limiter=control_of(request).health_lane)
    return JSON({"status": "ok", "store": "ok"})
