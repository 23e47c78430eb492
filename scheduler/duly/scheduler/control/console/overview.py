"""The first page: is the fleet alive, what does it run, and what waits for a person?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from duly.common.errors import InvalidField
from duly.common.explain import presence
from duly.common.identity import Occurrence
from duly.common.instant import to_ms
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.store import Store
from duly.scheduler.control.console.site import Site
from duly.scheduler.control.console.strips import Hours, hours_strip

MOST_RUNS = 1_000
MOST_WORKERS = 50
MOST_QUEUES = 50
LATE_MS = 5_000
_WAITING_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Process:
    """One process of the fleet."""

    name: str
    role: str
    state: str
    told: str
    """Its state in words."""
    queues: str
    runs: Occurrence | None
    seen_ms_ago: int
    holds_duty: bool

    @property
    def there(self) -> bool:
        return self.state != presence.UNSEEN


@dataclass(frozen=True, slots=True)
class View:
    """The fleet at one instant."""

    now_ms: int
    duty: dict[str, Any]
    duty_since_ms: int | None
    lag_ms: int
    late: bool
    schedules: int
    holds: int
    processes: list[Process]
    there: int
    """How many processes are there, those that are not shown included."""
    more_processes: int
    queues: list[dict[str, Any]]
    more_queues: int
    hours: Hours
    approvals: int
    waiting: list[OccurrenceRecord]
    more_waiting: int


def register(router: APIRouter, site: Site) -> None:
    def overview(request: Request) -> Response:
        site.reader(request)
        view = look(site.store)
        return site.page(request, "overview.html", now_ms=view.now_ms, view=view)

    router.get("/")(overview)


def look(store: Store) -> View:
    """The view, in a bounded number of commands."""
    snapshot = store.fleet.snapshot()
    runs, more = store.trails.runs(None, MOST_RUNS)
    now_ms = to_ms(snapshot["now"], "now")
    duty = snapshot["duty"]
    workers, queues = snapshot["workers"], snapshot["queues"]
    asked = snapshot["holds"] + snapshot["approvals"]
    waiting = store.holds.page(_WAITING_SHOWN)[0] if asked else []
    return View(
        now_ms,
        duty,
        None if duty["since"] is None else to_ms(duty["since"], "since"),
        snapshot["lag_ms"],
        snapshot["lag_ms"] >= LATE_MS,
        snapshot["schedules"],
        snapshot["holds"],
        [_process(each, duty["holder"]) for each in workers[:MOST_WORKERS]],
        len(presence.present(workers)),
        max(0, len(workers) - MOST_WORKERS),
        queues[:MOST_QUEUES],
        max(0, len(queues) - MOST_QUEUES),
        hours_strip(runs, now_ms, more=more is not None),
        snapshot["approvals"],
        waiting,
        max(0, asked - len(waiting)),
    )


def _process(details: dict[str, Any], holder: str | None) -> Process:
    queues = details.get("queues")
    return Process(
        str(details["name"]),
        str(details.get("role") or "-"),
        presence.state(details, holder),
        presence.state_in_words(details, holder),
        " ".join(map(str, queues)) if isinstance(queues, list) else "",
        _occurrence(details.get("occurrence")),
        details["seen_ms_ago"],
        details["name"] == holder,
    )


def _occurrence(text: object) -> Occurrence | None:
    try:
        return Occurrence.parse(text) if isinstance(text, str) else None
    except InvalidField:
        return None
