"""What can be done about a schedule with one form: run it now, pause, resume, release and delete it."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Depends, Request, Response

from duly.common.errors import DulyError, InvalidField, StoreUnavailable
from duly.common.instant import to_ms
from duly.common.store import Store
from duly.scheduler.control.console import schedule as schedule_page
from duly.scheduler.control.console.failing import describe
from duly.scheduler.control.console.forms import Fields, form_reader, number
from duly.scheduler.control.console.site import Site, see

Action = Callable[[Store, str, Fields], str]
"""Carries the form out, and returns where its effect can be seen."""


def register(router: APIRouter, site: Site) -> None:
    for name, action in ACTIONS.items():
        router.post(f"/schedules/{{schedule_id}}/{name}")(_endpoint(site, action))
        # Where a refused form is shown can be asked for again, by a reader or by the script that keeps pages current.
        router.get(f"/schedules/{{schedule_id}}/{name}")(lambda schedule_id: see(f"/schedules/{schedule_id}"))


def _endpoint(site: Site, action: Action) -> Callable[..., Response]:
    sent = Depends(form_reader(site))

    def act(request: Request, schedule_id: str, fields: Fields = sent) -> Response:
        store = site.store_of(request)
        try:
            return see(site.done.do(request.url.path, fields, lambda: action(store, schedule_id, fields)))
        except StoreUnavailable:
            raise
        except DulyError as error:
            return schedule_page.show(site, request, schedule_id, failure=describe(error), given=fields)

    return act


def _run(store: Store, schedule_id: str, fields: Fields) -> str:
    made = store.manual.run(schedule_id, fields.get("key", ""))
    word = "replayed" if made.replayed else "run"
    return f"/schedules/{schedule_id}?done={word}&tick={made.occurrence.tick_ms}"


def _pause(store: Store, schedule_id: str, fields: Fields) -> str:
    until = fields.get("until", "").strip()
    until_ms = _until(until) if until else None
    store.schedules.pause(schedule_id, fields.get("note", ""), until_ms, revision=number(fields, "revision"))
    return f"/schedules/{schedule_id}?done=paused"


def _until(text: str) -> int:
    """An instant as a person or a browser's date field writes it; without an offset it is UTC."""
    bare = text.replace(" ", "T")
    if len(bare) == len("2026-01-31T09:00"):
        bare += ":00"
    if len(bare) == len("2026-01-31T09:00:00"):
        bare += "Z"
    return to_ms(bare, "until")


def _resume(store: Store, schedule_id: str, fields: Fields) -> str:
    store.schedules.resume(schedule_id, fields.get("catch_up", "none"), revision=number(fields, "revision"))
    return f"/schedules/{schedule_id}?done=resumed"


def _release(store: Store, schedule_id: str, fields: Fields) -> str:
    tick_ms = store.schedules.release(schedule_id, revision=number(fields, "revision"))
    if tick_ms is None:
        return f"/schedules/{schedule_id}?done=nothing-missed"
    return f"/schedules/{schedule_id}?done=released&tick={tick_ms}"


def _delete(store: Store, schedule_id: str, fields: Fields) -> str:
    if fields.get("typed", "").strip() != schedule_id:
        raise InvalidField("typed", f"type {schedule_id} to delete it; nothing was deleted")
    store.schedules.delete(schedule_id, revision=number(fields, "revision"))
    return f"/schedules?deleted={schedule_id}"


ACTIONS: dict[str, Action] = {
    "run": _run,
    "pause": _pause,
    "resume": _resume,
    "release": _release,
    "delete": _delete,
}
