"""What stands before every route: headers, the body's size and form, who asks, and the end of every failure.

Plain ASGI, so that nothing is read or parsed before it is known to be bounded, and nothing that goes wrong anywhere
behind it reaches a client as anything but a problem.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duly.common.errors import InvalidField
from duly.common.strict_json import read_value
from duly.scheduler.control.problems import Problem, of_surprise
from duly.scheduler.control.security import Actor, crosses_sites, is_change, names_loopback

if TYPE_CHECKING:
    from duly.scheduler.control.app import Control

API = "/api/v1"
MAX_BODY = 1024 * 1024
BODY_S = 30.0
"""How long a body may take to arrive."""
_ONCE = ("authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "origin", "sec-fetch-site")
"""Headers that a change must not say twice: whoever reads the other one would take it for another request."""
_JSON_TYPES = {"application/json", "application/merge-patch+json"}
_READS = {f"{API}/preview"}
"""Asked with POST, and nothing but an answer comes of it."""
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}
_OF_MACHINES = {"cache-control": "no-store"}


def is_machine(path: str) -> bool:
    """Whether programs ask for the path; everything else is a page."""
    return path in {"/healthz", "/metrics", "/openapi.json"} or path == "/api" or path.startswith("/api/")


class Guard:
    """Lets through what is bounded, well-formed and allowed; ``request.state.actor`` is then who asks."""

    def __init__(self, app: ASGIApp, control: Control) -> None:
        self._app = app
        self._control = control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = _Reply(send, is_machine(scope["path"]), without_body=scope["method"] == "HEAD")
        if scope["method"] == "HEAD":  # what answers GET answers it, without the body
            scope = {**scope, "method": "GET"}
        try:
            await self._answer(scope, receive, reply)
        except Exception as error:
            if reply.started:
                raise
            await self._refuse(of_surprise(error), scope, receive, reply)

    async def _answer(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        request = Request(scope, receive)
        actor = self._control.access.identify(request)
        refusal = self._refusal(request, actor)
        if refusal is not None:
            await self._refuse(refusal, scope, receive, reply)
            return
        scope.setdefault("state", {})["actor"] = actor
        if not is_change(request.method):
            await self._app(scope, receive, reply)
            return
        body = await _body(request.headers, receive)
        if isinstance(body, bytes) and (fault := _malformed(request, body)) is not None:
            body = fault
        if isinstance(body, Problem):
            await self._refuse(body, scope, receive, reply)
            return
        await self._app(scope, _replay(body, receive), reply)

    def _refusal(self, request: Request, actor: Actor | None) -> Problem | None:
        """Why the request may not be made, whatever it asks."""
        # The path as it is routed: one that is put together with the Host header could be made to look like another.
        path, access, changes = request.scope["path"], self._control.access, is_change(request.method)
        # Where a token is needed a page that rebinds its name gets nowhere, and a proxy may say the name it goes by.
        if access.on_loopback and not access.token_required and not names_loopback(request.headers):
            return Problem(HTTPStatus.FORBIDDEN, "foreign_host", "the Host header must name this machine's loopback")
        twice = next((name for name in _ONCE if changes and len(request.headers.getlist(name)) > 1), None)
        if twice is not None:
            return Problem(HTTPStatus.BAD_REQUEST, "bad_header", f"the header {twice} may come once")
        if changes and crosses_sites(request.headers):
            return Problem(HTTPStatus.FORBIDDEN, "cross_site", "a page of another site may change nothing here")
        if path == "/healthz" or (self._control.has_pages and not is_machine(path)):
            return None  # pages ask for themselves who it is, to let them sign in
        if actor is None:
            return Problem(
                HTTPStatus.UNAUTHORIZED,
                "unauthorized",
                "this token is not accepted"
                if "authorization" in request.headers
                else "a token is needed: 'Authorization: Bearer <token>'",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if changes and not actor.may_change and path not in _READS:
            return Problem(HTTPStatus.FORBIDDEN, "read_only", "this token may read, and change nothing")
        return None

    async def _refuse(self, problem: Problem, scope: Scope, receive: Receive, reply: _Reply) -> None:
        await problem.response()(scope, receive, reply)


class _Reply:
    """The way back, with the headers that every reply carries; a page may bring its own policy."""

    def __init__(self, send: Send, for_machine: bool, *, without_body: bool = False) -> None:
        self._send = send
        self._without_body = without_body
        self._headers = {**_HEADERS, **(_OF_MACHINES if for_machine else {})}
        self.started = False
        self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
        elif self._without_body:
            if self._ended:
                return
            self._ended = True
            message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


async def _body(headers: Headers, receive: Receive) -> bytes | Problem:
    """The whole body, or why it is not taken: it is counted as it comes, whatever its headers say."""
    too_large = Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", "a body may take 1 MiB")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > MAX_BODY:
        return too_large
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(BODY_S):
            while True:
                message = await receive()
                part = message.get("body", b"")
                size += len(part)
                if size > MAX_BODY:
                    return too_large
                parts.append(part)
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return Problem(HTTPStatus.BAD_REQUEST, "body_incomplete", f"the body did not arrive within {BODY_S:.0f} s")


def _malformed(request: Request, body: bytes) -> Problem | None:
    """Why the body of a request to the API is not taken; what a lenient reader would guess at is refused."""
    if not body or not is_machine(request.scope["path"]):
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _JSON_TYPES:
        return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_json", "the body must be application/json")
    try:
        value = read_value("body", body.decode("utf-8"))
        # Half of a surrogate pair, spelled as an escape, would be replaced on its way to the store.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        return Problem(HTTPStatus.BAD_REQUEST, "malformed_json", "body: is not UTF-8, or spells what UTF-8 has not")
    except InvalidField as error:
        return Problem(HTTPStatus.BAD_REQUEST, "malformed_json", str(error))
    return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once; then whatever the client does next."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
