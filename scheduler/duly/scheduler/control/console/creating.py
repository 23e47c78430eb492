"""A new schedule, with the ticks it would have shown before it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from duly.common.clock import wall_ms
from duly.common.errors import DulyError, InvalidField, StoreUnavailable
from duly.common.explain.ticks import Tick, next_ticks
from duly.common.expression import ExpressionError, parse
from duly.common.instant import to_ms
from duly.common.timetable import Timetable
from duly.scheduler.control.console import drafts
from duly.scheduler.control.console.clock_changes import ClockChange, clock_changes
from duly.scheduler.control.console.failing import Failure, describe
from duly.scheduler.control.console.forms import Fields, form_reader
from duly.scheduler.control.console.once import new_key
from duly.scheduler.control.console.site import Site, see
from duly.scheduler.control.console.suggesting import known_tasks

UPCOMING = 10
LONGEST_SPEC = 400


@dataclass(frozen=True, slots=True)
class Preview:
    """The ticks of an expression, or why there are none."""

    problem: str | None = None
    timezone: str = "UTC"
    kind: str = ""
    ticks: Sequence[Tick] = ()
    changes: Sequence[ClockChange] = ()


def register(router: APIRouter, site: Site) -> None:
    sent = Depends(form_reader(site))

    def new(request: Request) -> Response:
        site.store_of(request)
        return _form(site, request, drafts.blank())

    def create(request: Request, fields: Fields = sent) -> Response:
        store, form = site.store_of(request), drafts.filled(fields, drafts.blank())
        if "preview" in fields:
            return _form(site, request, form, preview=preview(form))

        def write() -> str:
            made = store.schedules.add(drafts.defined(form))
            return f"/schedules/{made.schedule_id}?done=created"

        try:
            return see(site.done.do(request.url.path, fields, write))
        except StoreUnavailable:
            raise
        except DulyError as error:
            return _form(site, request, form, preview=preview(form), failure=describe(error))

    def ticks(
        request: Request,
        spec: Annotated[str, Query(max_length=LONGEST_SPEC)] = "",
        start_at: Annotated[str, Query(max_length=60)] = "",
        end_at: Annotated[str, Query(max_length=60)] = "",
    ) -> Response:
        site.reader(request)
        shown = preview({"spec": spec, "start_at": start_at, "end_at": end_at})
        return site.page(request, "ticks.html", preview=shown)

    router.get("/new")(new)
    router.post("/new")(create)
    router.get("/new/ticks")(ticks)


def preview(form: Mapping[str, str]) -> Preview | None:
    """The ticks that a form's expression has inside its bounds from now on; None while there is no expression."""
    spec, start_at, end_at = (form[name].strip() for name in ("spec", "start_at", "end_at"))
    if not spec:
        return None
    try:
        expression = parse(spec)
        timetable = Timetable(
            schedule_id="preview",
            expression=expression,
            start_ms=to_ms(start_at, "start_at") if start_at else 0,
            end_ms=to_ms(end_at, "end_at") if end_at else None,
        )
    except (ExpressionError, InvalidField) as error:
        return Preview(problem=str(error))
    now_ms = wall_ms()
    found, changes = next_ticks(timetable, now_ms, UPCOMING), clock_changes(timetable, now_ms)
    return Preview(None, expression.timezone, expression.schedule_type, found, changes)


def _form(
    site: Site,
    request: Request,
    form: Mapping[str, Any],
    *,
    preview: Preview | None = None,
    failure: Failure | None = None,
) -> Response:
    return site.page(
        request,
        "new.html",
        status=200 if failure is None else failure.status,
        form=form,
        tasks=known_tasks(site.store),
        preview=preview,
        failure=failure,
        key=new_key(),
    )
