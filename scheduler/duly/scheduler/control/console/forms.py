"""What a form says, read within bounds and only from a form of this console."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl

from fastapi import HTTPException, Request

from duly.common.errors import InvalidField
from duly.scheduler.control.console.site import Site

LONGEST_BODY = 512 * 1024
MOST_FIELDS = 60
FORM_TYPE = "application/x-www-form-urlencoded"

Fields = Mapping[str, str]


class Given(dict[str, str]):
    """What a refused form said, to be shown in it again; a field that it did not name is empty."""

    def __missing__(self, name: str) -> str:
        return ""


def form_reader(site: Site, *, changes: bool = True) -> Callable[[Request], Awaitable[Fields]]:
    """A dependency: the fields of the form, after whoever sent it was found to be allowed to change anything."""

    async def read(request: Request) -> Fields:
        if changes:
            site.store_of(request)
        fields = await read_fields(request)
        wanted = site.form_token(request)
        if wanted and not hmac.compare_digest(wanted, fields.get("form_token", "")):
            raise HTTPException(403, "This form is not of your session; go back, load the page again and repeat.")
        return fields

    return read


async def read_fields(request: Request) -> Fields:
    """Each field once; raises HTTPException for anything but a small form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise HTTPException(415, "Only forms of this console can be sent here.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY:
            raise HTTPException(413, "The form is too long.")
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, encoding="utf-8", errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise HTTPException(400, "The form cannot be read.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise HTTPException(400, "The form names a field twice.")
    return fields


def number(fields: Fields, name: str, *, at_least: int = 0) -> int:
    """A whole number that the form must hold; raises InvalidField."""
    text = fields.get(name, "").strip()
    if text.isascii() and text.isdigit() and len(text) <= 15 and int(text) >= at_least:
        return int(text)
    raise InvalidField(name, "must be a whole number")
