"""One hold or one run to approve: what is known, who claims what, and the form that settles it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from duly.common.errors import DulyError, InvalidField, StoreUnavailable
from duly.common.explain.holds import why_waiting
from duly.common.explain.judged import Judged, last_judged
from duly.common.explain.resolution import catch_up_latest
from duly.common.explain.text import count
from duly.common.explain.trails import timeline_of
from duly.common.identity import Occurrence, check_schedule_id, check_tick_ms
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.records.trail import RunEvent
from duly.common.store import Store
from duly.common.store.holds import Resolution
from duly.scheduler.control.console import catching_up
from duly.scheduler.control.console.claimants import Claimant, claimants
from duly.scheduler.control.console.failing import Failure, describe
from duly.scheduler.control.console.forms import Fields, Given, form_reader, number
from duly.scheduler.control.console.once import new_key
from duly.scheduler.control.console.site import Site, see

EVENTS_READ = 200
"""How many enqueue events are looked through for ticks that were skipped since the hold."""


@dataclass(frozen=True, slots=True)
class View:
    """What a reviewer needs to see. ``others``: how many more holds of the schedule there are."""

    now_ms: int
    record: OccurrenceRecord
    why: str
    judged: Judged | None
    sides: Sequence[Claimant]
    timeline: Sequence[RunEvent]
    others: int
    skipped: str | None
    """How many ticks its quarantine has skipped since it is held; None where none was."""
    orphaned: bool
    """Whether its schedule was deleted since it was enqueued."""
    outcomes: Sequence[tuple[str, str, str]]


def register(router: APIRouter, site: Site) -> None:
    sent = Depends(form_reader(site))

    def review(request: Request, schedule_id: str, tick: str) -> Response:
        site.reader(request)
        return _show(site, request, _occurrence(schedule_id, tick))

    def resolve(request: Request, schedule_id: str, tick: str, fields: Fields = sent) -> Response:
        store, occurrence = site.store_of(request), _occurrence(schedule_id, tick)
        return _settle(site, request, occurrence, fields, lambda: _resolve(store, occurrence, fields))

    def approve(request: Request, schedule_id: str, tick: str, fields: Fields = sent) -> Response:
        store, occurrence = site.store_of(request), _occurrence(schedule_id, tick)
        return _settle(site, request, occurrence, fields, lambda: _approve(store, occurrence, fields))

    def refuse(request: Request, schedule_id: str, tick: str, fields: Fields = sent) -> Response:
        store, occurrence = site.store_of(request), _occurrence(schedule_id, tick)
        return _settle(site, request, occurrence, fields, lambda: _refuse(store, occurrence, fields))

    router.get("/holds/{schedule_id}/{tick}")(review)
    router.post("/holds/{schedule_id}/{tick}/resolve")(resolve)
    router.post("/holds/{schedule_id}/{tick}/approve")(approve)
    router.post("/holds/{schedule_id}/{tick}/refuse")(refuse)
    for name in ("resolve", "approve", "refuse"):
        router.get(f"/holds/{{schedule_id}}/{{tick}}/{name}")(_back)


def _back(schedule_id: str, tick: str) -> Response:
    """To the page of the form: where a refused form is shown can be asked for again."""
    return see(f"/holds/{schedule_id}/{tick}")


def _settle(
    site: Site, request: Request, occurrence: Occurrence, fields: Fields, action: Callable[[], str]
) -> Response:
    try:
        return see(site.done.do(request.url.path, fields, action))
    except StoreUnavailable:
        raise
    except DulyError as error:
        return _show(site, request, occurrence, failure=describe(error), given=fields)


def look(store: Store, occurrence: Occurrence) -> View:
    """The view; raises OccurrenceNotFound."""
    record = store.attempts.get(occurrence)
    orphaned = bool(store.holds.orphaned([record]))
    return View(
        store.schedules.now_ms(),
        record,
        why_waiting(record),
        last_judged(record),
        claimants(record),
        timeline_of(store, occurrence),
        max(0, store.holds.count_of(occurrence.schedule_id) - 1),
        _skipped(store, record),
        orphaned,
        _outcomes(record, orphaned=orphaned),
    )


def _show(
    site: Site,
    request: Request,
    occurrence: Occurrence,
    *,
    failure: Failure | None = None,
    given: Mapping[str, str] | None = None,
) -> Response:
    view = look(site.store, occurrence)
    if view.record.waits_because is None and failure is None:
        return see(f"/schedules/{occurrence.schedule_id}/ticks/{occurrence.tick_ms}")
    return site.page(
        request,
        "review.html",
        now_ms=view.now_ms,
        status=200 if failure is None else failure.status,
        view=view,
        failure=failure,
        given=Given(given or {}),
        key=new_key(),
    )


def _resolve(store: Store, occurrence: Occurrence, fields: Fields) -> str:
    try:
        outcome = Resolution(fields.get("outcome", ""))
    except ValueError:
        raise InvalidField("outcome", "say what you found") from None
    again = outcome is Resolution.NO_COMMITTED_RESULT  # the field is there for whoever chooses another attempt
    extra = number(fields, "extra_attempts") if again and fields.get("extra_attempts", "").strip() else 0
    evidence, by = fields.get("evidence", ""), fields.get("by", "")
    _, replayed = store.holds.resolve(occurrence, outcome, by, evidence, extra, seen=number(fields, "seen"))
    told = {"done": "again" if replayed else "resolved"}
    if fields.get("catch_up") == "latest":
        told |= catching_up.as_query(catch_up_latest(store, occurrence))
    return f"/schedules/{occurrence.schedule_id}/ticks/{occurrence.tick_ms}?{urlencode(told)}"


def _approve(store: Store, occurrence: Occurrence, fields: Fields) -> str:
    again = store.holds.approve(occurrence, fields.get("by", ""))
    word = "again" if again else "approved"
    return f"/schedules/{occurrence.schedule_id}/ticks/{occurrence.tick_ms}?done={word}"


def _refuse(store: Store, occurrence: Occurrence, fields: Fields) -> str:
    evidence, by = fields.get("evidence", ""), fields.get("by", "")
    _, replayed = store.holds.resolve(occurrence, Resolution.ABANDONED, by, evidence, seen=number(fields, "seen"))
    word = "again" if replayed else "refused"
    return f"/schedules/{occurrence.schedule_id}/ticks/{occurrence.tick_ms}?done={word}"


def _skipped(store: Store, record: OccurrenceRecord) -> str | None:
    """Told from the latest enqueue events alone; where they do not reach back to the hold, as a lower bound."""
    held_ms = record.held_ms
    if held_ms is None:
        return None
    events, older = store.trails.events(record.occurrence.schedule_id, EVENTS_READ)
    skipped = sum(each.count for each in events if each.reason == "quarantined" and each.recorded_ms >= held_ms)
    if not skipped:
        return None
    cut = older is not None and events[-1].recorded_ms >= held_ms
    return f"at least {count(skipped, 'tick')}" if cut else count(skipped, "tick")


def _outcomes(record: OccurrenceRecord, *, orphaned: bool) -> list[tuple[str, str, str]]:
    """What a reviewer can find, each with what happens next."""
    left = record.retry_budget - record.attempt
    again = (
        "It ends here: its schedule was deleted, so that no attempt follows."
        if orphaned
        else f"Attempt {record.attempt + 1} of {record.retry_budget} is made next."
        if left > 0
        else f"Its budget of {count(record.retry_budget, 'attempt')} is spent: allow at least 1 extra, made next."
    )
    return [
        (Resolution.NO_COMMITTED_RESULT.value, "The effect did not happen", again),
        (
            Resolution.COMMITTED.value,
            "The effect happened",
            "It ends as a success, with your evidence as its result. Nothing runs again.",
        ),
        (Resolution.ABANDONED.value, "Give it up", "It ends here, whatever happened. Nothing runs again."),
    ]


def _occurrence(schedule_id: str, tick: str) -> Occurrence:
    return Occurrence(check_schedule_id(schedule_id), check_tick_ms(tick))
