"""Who may read and who may change: tokens, sessions, and the rule that no other site may act for somebody.

Without a token the console listens on loopback only, and whoever reaches it may change everything. With one, every
request but `/healthz` names it: `Authorization: Bearer`, or the cookie of a session that was begun with it.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError, InvalidField

TOKEN = "DULY_CONSOLE_TOKEN"
READ_TOKEN = "DULY_CONSOLE_READ_TOKEN"
COOKIE = "duly_session"
"""Holds a session; `HttpOnly` and `SameSite=Strict`."""
SESSION_MS = 12 * 3_600_000
_TOKEN_TEXT = re.compile(r"[!-~]{1,512}", re.ASCII)
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::\d{1,5})?", re.ASCII)
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class OpenToAll(DulyError):
    """The console would listen where others can reach it, and nothing would ask who they are."""

    code = "token_required"

    def __init__(self, host: str) -> None:
        super().__init__(f"listening on {host!r} needs {TOKEN}: without a token the console stays on loopback")


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who was identified. ``name``: `local` where no token is needed, else by what they were: `token`,
    `read-token` or `session`.
    """

    name: str
    may_change: bool


@dataclass(frozen=True)
class Access:
    """Who may read and change. Sessions end with this process, or after `SESSION_MS`."""

    host: str = "127.0.0.1"
    """Where the console listens."""
    token: str | None = None
    read_token: str | None = None
    clock: Clock = field(default_factory=SystemClock)
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def __post_init__(self) -> None:
        for name, value in ((TOKEN, self.token), (READ_TOKEN, self.read_token)):
            if value is not None and not _TOKEN_TEXT.fullmatch(value):
                raise InvalidField(name, "must be 1-512 printable ASCII characters without spaces")
        if self.read_token is not None and self.token is None:
            raise InvalidField(READ_TOKEN, f"goes with {TOKEN}: set both")
        if self.read_token is not None and self.read_token == self.token:
            raise InvalidField(READ_TOKEN, f"must differ from {TOKEN}")
        if self.token is None and not self.on_loopback:
            raise OpenToAll(self.host)

    @classmethod
    def from_environment(cls, host: str, environ: Mapping[str, str]) -> Access:
        """Read the tokens; raises OpenToAll when ``host`` needs one, InvalidField for one that cannot be used."""
        return cls(host, environ.get(TOKEN) or None, environ.get(READ_TOKEN) or None)

    @property
    def on_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def token_required(self) -> bool:
        return self.token is not None

    @property
    def session_cookie(self) -> str:
        """The name of the cookie that holds a session."""
        return COOKIE

    def identify(self, request: HTTPConnection) -> Actor | None:
        """Who asks; None when a token is needed and none that is right was given."""
        if self.token is None:
            return Actor("local", may_change=True)
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return self.verify(request.cookies.get(COOKIE, ""))
        may_change = self.check(given.strip()) if scheme.lower() == "bearer" else None
        return None if may_change is None else Actor("token" if may_change else "read-token", may_change)

    def check(self, given: str) -> bool | None:
        """Whether the token allows changes; None when it is none of ours. Takes as long for every wrong one."""
        told = _digest(given)
        changes = self.token is not None and hmac.compare_digest(told, _digest(self.token))
        reads = self.read_token is not None and hmac.compare_digest(told, _digest(self.read_token))
        return True if changes else (False if reads else None)

    def issue(self, token: str) -> str | None:
        """A session for whoever knows the token, as its cookie's value; None for a wrong token."""
        may_change = self.check(token)
        if may_change is None:
            return None
        until = int(self.clock.monotonic_ms()) + SESSION_MS
        claims = f"{'change' if may_change else 'read'}.{until}.{secrets.token_hex(8)}"
        return f"{claims}.{self.sign(claims)}"

    def verify(self, session: str) -> Actor | None:
        """Who began the session; None when it is over or was not issued here."""
        claims, _, signature = session.rpartition(".")
        if not hmac.compare_digest(_digest(signature), _digest(self.sign(claims))):
            return None
        may, until, _ = claims.split(".")
        return None if int(until) <= self.clock.monotonic_ms() else Actor("session", may == "change")

    def sign(self, text: str) -> str:
        """A signature that only this process can make; also for the tokens of forms."""
        return hmac.new(self._secret, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def begin(self, response: Response, session: str, *, secure: bool) -> None:
        """Give the browser its session. ``secure``: whether it came by HTTPS, to us or to a proxy before us."""
        response.set_cookie(
            COOKIE, session, max_age=SESSION_MS // 1000, httponly=True, samesite="strict", secure=secure
        )

    def end(self, response: Response) -> None:
        """Take the session from the browser."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")


def is_change(method: str) -> bool:
    """Whether a request of this method may change something."""
    return method not in _SAFE_METHODS


def crosses_sites(headers: Headers) -> bool:
    """Whether a page of another site may have sent the request. What browsers do not say is taken for no browser."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in {"same-origin", "none"}:
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host", "")


def names_loopback(headers: Headers) -> bool:
    """Whether the Host header is a name of this machine: a page that rebinds its own name to us is refused."""
    match = _HOST.fullmatch(headers.get("host", ""))
    return match is not None and is_loopback(match.group(1).strip("[]"))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
