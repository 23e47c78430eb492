"""Says when there is something new to see. One stream of events for each open page, within bounds.

The stream carries no content: ``changed`` means that the page should be read again. Whoever gets no stream, since too
many are open or a proxy cuts it, reads the page again now and then, and says that it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from threading import Lock

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from duly.common.clock import Clock, SystemClock
from duly.common.errors import DulyError, StoreUnavailable
from duly.common.explain import cursors
from duly.common.identity import canonical_json, check_schedule_id
from duly.common.records.schedule import ScheduleRecord
from duly.common.store import Store
from duly.common.store.searching import Wanted
from duly.scheduler.control.console.schedules import PAGE, Cursor, State, Text, wanted_of
from duly.scheduler.control.console.site import HEADERS, Site

MOST_STREAMS = 64
LOOK_EVERY_S = 1.0
LONGEST_S = 300.0
"""A stream ends after this time, and the browser asks for a new one: who asks is looked at again."""
LOOKS_FOR_A_SEARCH = 3
"""A search is made again at every third look: it costs the store more than the others."""
LOOKING_AT_ONCE = 4
MOST_SEEN = 256
_RETRY_MS = 2_000
AWAY = "away"


def register(router: APIRouter, site: Site) -> None:
    watch = Watch(site.store)

    async def live(
        request: Request,
        schedule: str = "",
        listed: str | None = None,
        q: Text = "",
        state: State = "",
        cursor: Cursor = None,
    ) -> Response:
        site.reader(request)
        wanted = wanted_of(q, state)
        if wanted.anything:
            shown = Shown(check_schedule_id(schedule) if schedule else "", _after(listed))
        else:
            shown = Shown(found=wanted, found_after=cursors.FOUND.decode(cursor) or "")
        if not watch.enter():
            raise HTTPException(503, "Too many pages are live; this one reads itself again now and then.")
        return Streamed(watch, shown)

    router.get("/live")(live)


class Streamed(StreamingResponse):
    """A stream whose seat was taken, and is given back however it ends, also before its first event."""

    def __init__(self, watch: Watch, shown: Shown) -> None:
        headers = {**HEADERS, "X-Accel-Buffering": "no"}
        super().__init__(watch.stream(shown), media_type="text/event-stream", headers=headers)
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watch.leave()


def _after(listed: str | None) -> str | None:
    return check_schedule_id(listed) if listed else listed


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows besides the fleet: one schedule, those listed after an id (the first ones: an empty id), or
    those found after a place.
    """

    schedule_id: str = ""
    listed_after: str | None = None
    found: Wanted | None = None
    found_after: str = ""


class Watch:
    """Looks at the store once a second while anybody watches, however many they are."""

    def __init__(self, store: Store, *, clock: Clock | None = None, look_every_s: float = LOOK_EVERY_S) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._look_every_s = look_every_s
        self._lock = Lock()
        # A store that answers slowly must not take the threads that pages are made in.
        self._limiter = CapacityLimiter(LOOKING_AT_ONCE)
        self._open = 0
        self._seen: dict[Shown, tuple[float, str]] = {}

    def enter(self) -> bool:
        """Take a seat for a stream, if one is free; `leave` gives it back."""
        with self._lock:
            if self._open >= MOST_STREAMS:
                return False
            self._open += 1
            return True

    def leave(self) -> None:
        """Give the seat back."""
        with self._lock:
            self._open -= 1
            if not self._open:
                self._seen.clear()

    async def stream(self, shown: Shown) -> AsyncIterator[str]:
        """Events until the page is gone or the stream is old."""
        yield f"retry: {_RETRY_MS}\nevent: live\ndata: \n\n"
        until_ms = self._clock.monotonic_ms() + LONGEST_S * 1000
        before: str | None = None
        while self._clock.monotonic_ms() < until_ms:
            now = await to_thread.run_sync(self._mark, shown, limiter=self._limiter)
            if before is not None and now != before:
                yield "event: away\ndata: \n\n" if now == AWAY else "event: changed\ndata: \n\n"
            else:
                yield ": \n\n"
            before = now
            await asyncio.sleep(self._look_every_s)

    def _mark(self, shown: Shown) -> str:
        """What stands for all that the page shows; another text means that something changed."""
        with self._lock:
            seen = self._seen.get(shown)
            if seen is not None and self._clock.monotonic_ms() - seen[0] < self._fresh_ms(shown):
                return seen[1]
        mark = mark_of(self._store, shown)
        with self._lock:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen[shown] = (self._clock.monotonic_ms(), mark)
        return mark

    def _fresh_ms(self, shown: Shown) -> float:
        """How long a mark stands for what is there: not quite until the next look."""
        return self._look_every_s * 1000 * (0.9 if shown.found is None else LOOKS_FOR_A_SEARCH - 0.1)


def mark_of(store: Store, shown: Shown) -> str:
    """The state of the fleet, or of one schedule, in a text that changes with it; a bounded number of commands."""
    try:
        runs = store.trails.last_run_cursor(shown.schedule_id or None)
        if shown.schedule_id:
            return canonical_json([runs, _schedule(store, shown.schedule_id)])
        if shown.listed_after is not None:
            records, following = store.schedules.page(PAGE, shown.listed_after)
            return canonical_json([runs, following, _all(records)])
        if shown.found is not None:
            records, following, _ = store.search.page(shown.found, PAGE, shown.found_after)
            return canonical_json([runs, following, _all(records)])
        fleet = store.fleet.snapshot()
    except StoreUnavailable:
        return AWAY
    workers = [[each["name"], each.get("state"), each.get("occurrence")] for each in fleet["workers"]]
    duty = [fleet["duty"]["holder"], fleet["duty"]["fence"]]
    return canonical_json(
        [runs, duty, workers, fleet["queues"], fleet["schedules"], fleet["holds"], fleet["approvals"]]
    )


def _schedule(store: Store, schedule_id: str) -> list[object]:
    try:
        record = store.schedules.get(schedule_id)
    except StoreUnavailable:
        raise
    except DulyError:
        return []
    return _stands(record)


def _all(records: Iterable[ScheduleRecord]) -> list[list[object]]:
    return [[record.schedule_id, *_stands(record)] for record in records]


def _stands(record: ScheduleRecord) -> list[object]:
    return [record.revision, record.next_run_ms, record.held, record.state.value]
