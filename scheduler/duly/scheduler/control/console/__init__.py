"""The console: the fleet's records as pages that a person can read and act on.

Model. Every page is one module: it reads the store once, builds a plain view of it, and renders a template. Reading
and acting need no script: actions are forms that answer with a redirect (POST-redirect-GET). The script on top of
that replaces the regions of a page that changed, keeps relative times current, and shows a preview while one types.

Invariants. Nothing is decided here: every change goes through the store, as from the command line, and carries what
its reader saw (a revision, a version, a key made with the form), so that a stale page or a double click changes
nothing twice. Every text from the store is escaped, and what could mislead a reader's eye is spelled out. Pages are
bounded: in records, in bytes, in commands to Redis. No inline script or style, nothing from anywhere else.

Failure handling. What the store refuses is one clear line on the page that asked, with its status. A store that cannot
be reached is a page of its own with 503, and pages come back by themselves when it does.

Non-goals. Deciding who may do what (`control.access` does), and showing what tasks were given to anybody but those
who may edit them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from duly.scheduler.control.console import (
    acting,
    creating,
    editing,
    holds,
    live,
    occurrence,
    overview,
    review,
    schedule,
    schedules,
    signin,
)
from duly.scheduler.control.console.failing import Failure
from duly.scheduler.control.console.site import STATIC, ConsoleRoute, Control, Site
from duly.scheduler.control.guard import is_machine

Handler = Callable[[Request, Exception], Response | Awaitable[Response]]
PAGES = (overview, schedules, creating, schedule, acting, editing, holds, review, occurrence, live, signin)


def mount(app: FastAPI, control: Control) -> None:
    """Add the console's pages to the application, at ``/``."""
    site = Site(control)
    app.state.console = site
    app.mount("/static", StaticFiles(directory=STATIC), name="console-static")
    router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)
    for page in PAGES:
        page.register(router, site)
    app.include_router(router)
    app.add_exception_handler(HTTPException, _unroutable(site, app.exception_handlers.get(HTTPException)))


def _unroutable(site: Site, for_machines: Handler | None) -> Handler:
    """A page for whoever asks for a page that there is not; what programs ask for is answered as before."""

    async def answer(request: Request, error: Exception) -> Response:
        if for_machines is not None and is_machine(request.url.path):
            made = for_machines(request, error)
            return await made if isawaitable(made) else made
        assert isinstance(error, HTTPException)
        message = "There is nothing at this address." if error.status_code == 404 else "This is not done so."
        response = site.failure(request, Failure(error.status_code, message, "not_found"))
        response.headers.update(error.headers or {})
        return response

    return answer
