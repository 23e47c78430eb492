"""Signing in with the console's token, where one is needed, and out again."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response

from duly.scheduler.control.console.failing import Failure
from duly.scheduler.control.console.forms import Fields, form_reader, read_fields
from duly.scheduler.control.console.site import SIGN_IN, Site, see


def register(router: APIRouter, site: Site) -> None:
    sent = Depends(read_fields)

    def ask(request: Request, next: str = "/") -> Response:  # noqa: A002 - the name in the address
        if site.control.access.identify(request) is not None:
            return see(_inside(next))
        return site.page(request, "login.html", next=_inside(next), failure=None)

    def sign_in(request: Request, fields: Fields = sent) -> Response:
        access, onward = site.control.access, _inside(fields.get("next", "/"))
        session = access.issue(fields.get("token", "").strip())
        if session is None:
            wrong = Failure(401, "This is not the console's token.", "unauthorized", "token")
            return site.page(request, "login.html", status=401, next=onward, failure=wrong)
        response = see(onward)
        # Behind a proxy that ends TLS only the browser knows: it says where its form came from.
        access.begin(response, session, secure=request.headers.get("origin", "").startswith("https://"))
        return response

    def sign_out() -> Response:
        response = see(SIGN_IN)
        site.control.access.end(response)
        return response

    router.get(SIGN_IN)(ask)
    router.post(SIGN_IN)(sign_in)
    router.post("/logout", dependencies=[Depends(form_reader(site, changes=False))])(sign_out)


def _inside(path: str) -> str:
    """The path when it is one of ours, else the first page: nobody is sent anywhere else."""
    ours = path.startswith("/") and not path.startswith("//") and path.isascii() and path.isprintable()
    return path if ours and "\\" not in path and len(path) <= 500 else "/"
