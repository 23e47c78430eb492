"""Errors as RFC 9457 problem bodies: one table from an error's stable code to its status, and no other way to fail.

A problem's ``detail`` is the error's own line, which is fit for a user; never a payload, never the backend's words.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse, Response

from duly.common.errors import (
    DulyError,
    InvalidField,
    OccurrenceNotFound,
    Refused,
    RevisionConflict,
    ScheduleExists,
    ScheduleNotFound,
    StoreProtocolError,
    StoreUnavailable,
)
from duly.common.expression import ExpressionError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 1
MOST_FAULTS = 50
"""How many fields a problem names: whoever sends more wrong ones gets no reply that is larger than what was sent."""
_FAULTS_SAID = 10

_BY_CODE = {
    "held": HTTPStatus.LOCKED,
    "backpressure": HTTPStatus.TOO_MANY_REQUESTS,
    "not_reviewer": HTTPStatus.FORBIDDEN,
}
_BY_KIND: Sequence[tuple[type[DulyError], HTTPStatus]] = (
    (ScheduleNotFound, HTTPStatus.NOT_FOUND),
    (OccurrenceNotFound, HTTPStatus.NOT_FOUND),
    (InvalidField, HTTPStatus.UNPROCESSABLE_ENTITY),
    (ExpressionError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (StoreUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (StoreProtocolError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ScheduleExists, HTTPStatus.CONFLICT),
    (RevisionConflict, HTTPStatus.CONFLICT),
    (Refused, HTTPStatus.CONFLICT),
)
_ASKED_WRONGLY = {"cursor", "idempotency_key"}
"""Not a field of a body: where one of these is at fault, the request itself is."""


class JSON(JSONResponse):
    """A JSON reply in ASCII, so that no text, however hostile, is anything but a string in it."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


@dataclass(frozen=True, slots=True)
class Fault:
    """One field that is wrong: its name, and what would be right."""

    field: str
    message: str

    def to_dict(self) -> dict[str, str]:
        return {"field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is said about a request that was not carried out. ``code`` is stable; ``errors`` names fields."""

    status: HTTPStatus
    code: str
    detail: str
    errors: Sequence[Fault] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            "code": self.code,
        }
        if self.errors:
            body["errors"] = [fault.to_dict() for fault in self.errors[:MOST_FAULTS]]
        return body

    def response(self) -> Response:
        body = json.dumps(self.to_dict()).encode("ascii")
        return Response(body, int(self.status), dict(self.headers), MEDIA_TYPE)


def said(faults: Sequence[Fault]) -> str:
    """The first of the faults, in one line."""
    return "; ".join(f"{fault.field}: {fault.message}" for fault in faults[:_FAULTS_SAID])


class Stopped(DulyError):
    """The request ends here, with this problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.code = problem.code


class InvalidFields(DulyError):
    """Several fields at fault."""

    code = "invalid_field"

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(said(faults))
        self.faults = tuple(faults)


def of_error(error: DulyError) -> Problem:
    """The problem behind an error that was raised on purpose."""
    if isinstance(error, Stopped):
        return error.problem
    if isinstance(error, InvalidFields):
        return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, error.code, str(error), error.faults)
    status, headers = _status(error), dict[str, str]()
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return Problem(status, error.code, str(error), _faults(error), headers)


def of_surprise(error: BaseException) -> Problem:
    """The problem behind anything else. The log names its kind and nothing of what it says."""
    log.error("a request failed with %s", type(error).__name__, extra={"action": "unexpected"})
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "unexpected",
        "the request could not be carried out, and whether it took effect is unknown; the log of the console names why",
    )


def _status(error: DulyError) -> HTTPStatus:
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    if isinstance(error, InvalidField) and error.field in _ASKED_WRONGLY:
        return HTTPStatus.BAD_REQUEST
    return next((status for kind, status in _BY_KIND if isinstance(error, kind)), HTTPStatus.CONFLICT)


def _faults(error: DulyError) -> Sequence[Fault]:
    if isinstance(error, InvalidField | ExpressionError):
        return (Fault(error.field, str(error).removeprefix(f"{error.field}: ")),)
    return ()
