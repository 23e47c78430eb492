"""Pages as the console would mount them, for tests of what stands before them."""

from __future__ import annotations

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response

from duly.scheduler.control.app import Control


def mount(app: FastAPI, control: Control) -> None:
    """A page that says who asks, and a form that says what it was sent."""

    def page(request: Request) -> Response:
        actor = control.access.identify(request)
        who = "nobody" if actor is None else actor.name
        return PlainTextResponse(who, headers={"Content-Security-Policy": "default-src 'self'"})

    async def form(request: Request) -> Response:
        return PlainTextResponse(await request.body())

    app.add_api_route("/", page, include_in_schema=False)
    app.add_api_route("/form", form, methods=["POST"], include_in_schema=False)
