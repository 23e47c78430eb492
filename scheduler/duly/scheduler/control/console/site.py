"""What all pages share: who asks, how a page is rendered, and how a failure becomes one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from duly.common.clock import wall_ms
from duly.common.errors import DulyError
from duly.common.explain.text import safe
from duly.common.store import Store
from duly.scheduler.control.console import failing, wording
from duly.scheduler.control.console.failing import Failure, describe
from duly.scheduler.control.console.once import DoneForms
from duly.scheduler.control.problems import of_surprise
from duly.scheduler.control.security import COOKIE, Access, Actor

HERE = Path(__file__).parent
STATIC = HERE / "static"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # With no-referrer a browser sends its own forms as from nowhere ("Origin: null"), and they would be refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LONGEST_TEXT = 5_000
"""What a page shows of one text, whoever wrote it to the store; forms show theirs whole."""
SIGN_IN = "/login"
ACTOR = "console"
"""Who a change is recorded as."""


class Control(Protocol):
    """What the application gives the console."""

    @property
    def store(self) -> Store: ...

    @property
    def access(self) -> Access: ...


class SignInNeeded(Exception):
    """Nobody who may read has asked."""


class ChangeForbidden(Exception):
    """Who asks may read only."""


@dataclass
class Site:
    """The console on one store. ``done`` remembers forms that were carried out."""

    control: Control
    done: DoneForms = field(default_factory=DoneForms)

    @property
    def store(self) -> Store:
        return self.control.store

    def reader(self, request: Request) -> Actor:
        """Who asks; raises SignInNeeded."""
        actor = self.control.access.identify(request)
        if actor is None:
            raise SignInNeeded
        return actor

    def store_of(self, request: Request) -> Store:
        """The store for a change by whoever asks; raises SignInNeeded, ChangeForbidden."""
        if not self.reader(request).may_change:
            raise ChangeForbidden
        return self.store.acting_as(ACTOR)

    def form_token(self, request: Request) -> str:
        """What a form of this session carries; empty without a session. Nobody else can know it."""
        session = request.cookies.get(COOKIE, "")
        return self.control.access.sign(f"form {session}") if session else ""

    def page(
        self, request: Request, template: str, *, now_ms: int | None = None, status: int = 200, **view: Any
    ) -> HTMLResponse:
        """A page: the template, filled with the view."""
        actor = self.control.access.identify(request)
        shown_ms = wall_ms() if now_ms is None else now_ms
        html = (
            environment()
            .get_template(template)
            .render(
                now_ms=shown_ms,
                actor=actor,
                may_change=actor is not None and actor.may_change,
                signed_in=actor is not None and self.control.access.token_required,
                form_token=self.form_token(request),
                path=request.url.path,
                **view,
            )
        )
        return HTMLResponse(html, status, HEADERS)

    def failure(self, request: Request, failure: Failure) -> HTMLResponse:
        """A page that says what is wrong and what to do."""
        response = self.page(request, "failure.html", status=failure.status, failure=failure)
        if failure.status == 503:
            response.headers["Retry-After"] = "2"
        return response


class ConsoleRoute(APIRoute):
    """A route whose failures are pages, whatever the application around it makes of failures."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def as_page(request: Request) -> Response:
            site: Site = request.app.state.console
            try:
                return await handle(request)
            except SignInNeeded:
                return _to_sign_in(site, request)
            except ChangeForbidden:
                return site.failure(request, Failure(403, "You may look, but change nothing.", "read_only"))
            except DulyError as error:
                return site.failure(request, describe(error))
            except HTTPException as error:
                return site.failure(request, Failure(error.status_code, str(error.detail), "refused"))
            except RequestValidationError:
                return site.failure(request, Failure(400, "This is not an address of the console.", "bad_request"))
            except Exception as error:  # noqa: BLE001 - a page is the answer to everything
                return site.failure(request, failing.of_problem(of_surprise(error)))

        return as_page


def see(location: str) -> RedirectResponse:
    """On to the page that shows what an action did."""
    return RedirectResponse(location, 303, HEADERS)


def _to_sign_in(site: Site, request: Request) -> Response:
    if request.method in {"GET", "HEAD"}:
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return see(SIGN_IN if asked == "/" else f"{SIGN_IN}?next={quote(asked, safe='')}")
    return site.failure(request, Failure(401, "You are not signed in; nothing was changed.", "unauthorized"))


@cache
def environment() -> Environment:
    """The templates; every expression is made harmless to the eye, then escaped."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    made.filters["verbatim"] = lambda text: Markup(escape("" if text is None else text))
    made.globals.update(wording.GLOBALS)
    made.globals["static"] = _static
    return made


def _finalize(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return "" if value is None else _shown(value) if isinstance(value, str) else value


def _shown(text: str) -> str:
    return safe(text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} ...")


@cache
def _static(name: str) -> str:
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"
