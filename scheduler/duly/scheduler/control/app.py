"""The application: the guard, the routes of the API, and the console's pages where they are installed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from duly.common.errors import DulyError
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.control import document
from duly.scheduler.control.guard import API, Guard
from duly.scheduler.control.problems import JSON, Fault, Problem, of_error, said
from duly.scheduler.control.security import Access

HEALTH_AT_ONCE = 4
ACTOR = "api"
"""What the record of a change says of who made it."""
ROUTES = ("schedules", "actions", "previews", "trails", "holds", "jobs", "fleet", "health", "metrics")
"""Modules with a group of routes each; they import this one."""
CONSOLE = "duly.scheduler.control.console"


@dataclass
class Control:
    """What routes and pages share."""

    store: Store
    access: Access
    has_pages: bool = False
    health_lane: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(HEALTH_AT_ONCE))
    """Threads of the question whether the store answers: it must not queue behind those who wait for the store."""

    @property
    def settings(self) -> Settings:
        return self.store.settings

    @cached_property
    def changing(self) -> Store:
        """The store for changes that are asked for through the API."""
        return self.store.acting_as(ACTOR)


def create_app(store: Store, *, access: Access | None = None, pages: bool = True) -> FastAPI:
    """The API on a store and, unless told otherwise, the console's pages; without ``access`` for loopback only."""
    control = Control(store, access or Access())
    app = FastAPI(
        title="duly",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        default_response_class=JSON,
    )
    app.state.control = control
    document.install(app)
    for name in ROUTES:
        app.include_router(import_module(f"duly.scheduler.control.{name}").router)
    app.add_exception_handler(DulyError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _unroutable)
    if pages and has_console():
        control.has_pages = True
        import_module(CONSOLE).mount(app, control)
    else:
        app.add_api_route("/", _pointer, include_in_schema=False)
    app.add_middleware(Guard, control=control)
    return app


def has_console() -> bool:
    """Whether the pages are part of this installation, with what they need."""
    return find_spec(CONSOLE) is not None and find_spec("jinja2") is not None


def control_of(request: Request) -> Control:
    control: Control = request.app.state.control
    return control


async def reading(request: Request) -> Store:
    return control_of(request).store


async def changing(request: Request) -> Store:
    return control_of(request).changing


Reading = Annotated[Store, Depends(reading)]
"""The store of a route that changes nothing."""
Changing = Annotated[Store, Depends(changing)]
"""The store of a route that makes a change."""


def _pointer() -> Response:
    return JSON({"api": API, "document": "/openapi.json", "health": "/healthz", "metrics": "/metrics"})


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, DulyError)
    return of_error(error).response()


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [_fault(each) for each in error.errors()]
    # A header at fault is no field of anything: the request itself is wrong.
    header = next((each for each in error.errors() if each["loc"][0] == "header"), None)
    if header is not None:
        name = str(header["loc"][-1])
        code = "idempotency_key_required" if header["type"] == "missing" else "bad_header"
        return Problem(HTTPStatus.BAD_REQUEST, code, f"the header {name} {_message(header)}").response()
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_field", said(faults), faults).response()


def _fault(error: dict[str, Any]) -> Fault:
    where = error["loc"][1:] if len(error["loc"]) > 1 else error["loc"]
    return Fault(".".join(str(part)[:80] for part in where), _message(error))


def _message(error: dict[str, Any]) -> str:
    kind = error["type"]
    if kind == "missing":
        return "is required"
    if kind == "extra_forbidden":
        return "is not a field of this request"
    text = str(error["msg"])
    return text[:1].lower() + text[1:]


async def _unroutable(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    headers = dict(error.headers or {})
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods(request))
        return Problem(status, "method_not_allowed", "this is not done with this method", headers=headers).response()
    if status is HTTPStatus.NOT_FOUND:
        return Problem(status, "not_found", "there is nothing at this address", headers=headers).response()
    return Problem(status, "bad_request", "the request cannot be read", headers=headers).response()


def _methods(request: Request) -> list[str]:
    """What can be done at the address of a request; a route by itself knows its own method only."""
    paths = request.app.openapi()["paths"].items()
    found = [operations for path, operations in paths if compile_path(path)[0].match(request.url.path)]
    methods = {method.upper() for operations in found for method in operations} or {"GET"}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))
