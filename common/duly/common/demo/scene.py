"""What the chapters of the story work with: the fleet, the records as they come, and patience with an end."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from duly.common.clock import Clock
from duly.common.demo.documents import Documents
from duly.common.demo.fleet import NAMES, DemoFleet, environment, name_of
from duly.common.demo.narrator import Narrator, Seat
from duly.common.errors import DulyError
from duly.common.identity import Occurrence
from duly.common.instant import to_datetime
from duly.common.process.local import DULY
from duly.common.records.definition import define
from duly.common.records.trail import RunEvent
from duly.common.store import Store

PATIENCE_MS = 45_000.0
_POLL_MS = 100
_BOARD_MS = 250.0
_Answer = TypeVar("_Answer")


class StoryStalled(DulyError):
    """Something that had to happen did not."""

    code = "demo_stalled"


def clock_time(tick_ms: int) -> str:
    """The time of day of a tick, UTC."""
    return to_datetime(tick_ms).strftime("%H:%M:%S")


@dataclass
class Scene:
    """The stage of one story. Times are the store's, except for patience."""

    store: Store
    fleet: DemoFleet
    narrator: Narrator
    documents: Documents
    journals: Path
    clock: Clock
    console: str | None = None
    """The address of the pages, where there are any."""
    chapter: int = 0
    shown: Callable[[RunEvent], bool] = field(default=lambda _: False)
    """Which successes are told as they come."""
    _coming: deque[RunEvent] = field(default_factory=deque)
    _doing: dict[str, str] = field(default_factory=dict)
    _cursor: str = "0-0"
    _board_at_ms: float = 0.0

    def begin(self, title: str, shown: Callable[[RunEvent], bool] = lambda _: False) -> None:
        """Begin the next chapter; ``shown`` picks the successes that are told in it."""
        self.chapter += 1
        self.shown = shown
        self.narrator.chapter(self.chapter, title)

    def add_schedule(self, schedule_id: str, task: str, take_ms: int, **fields: Any) -> None:
        """Add a schedule that watches the documents; a run of it takes about ``take_ms``."""
        pace_ms = take_ms // max(len(self.documents.names), 1)
        kwargs = {"folder": str(self.documents.folder), "state": str(self.journals), "pace_ms": pace_ms}
        self.store.schedules.add(define({"schedule_id": schedule_id, "task": task, "kwargs": kwargs, **fields}))

    def event(self, what: str, wanted: Callable[[RunEvent], bool]) -> RunEvent:
        """The next event of the run history that is wanted; those before it are passed over."""

        def find() -> RunEvent | None:
            while self._coming:
                event = self._coming.popleft()
                if wanted(event):
                    return event
            return None

        return self.until(what, find)

    def until(self, what: str, ask: Callable[[], _Answer | None]) -> _Answer:
        """Ask until there is an answer; raises StoryStalled when it takes too long or a worker ended by itself."""
        give_up_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while True:
            answer = ask()
            if answer:
                return answer
            if self.clock.monotonic_ms() >= give_up_ms:
                raise StoryStalled(f"chapter {self.chapter}: {what} did not come within {PATIENCE_MS / 1000:.0f} s")
            self.look_around()

    def pause(self, ms: int) -> None:
        """Let some time pass on the store's clock."""
        until_ms = self.store.schedules.now_ms() + ms
        self.until("the end of a pause", lambda: self.store.schedules.now_ms() >= until_ms)

    def look_around(self) -> None:
        """Take in what the fleet recorded meanwhile; waits a moment when there is nothing."""
        missing = self.fleet.missing()
        if missing:
            raise StoryStalled(f"chapter {self.chapter}: {', '.join(missing)} ended by itself")
        if self.clock.monotonic_ms() >= self._board_at_ms:
            self.narrator.board(self._seats)
            self._board_at_ms = self.clock.monotonic_ms() + _BOARD_MS
        events, self._cursor = self.store.trails.runs_after(self._cursor, None, block_ms=_POLL_MS)
        for event in events:
            self._coming.append(event)
            self._tell(event)

    def point_to(self, path: str) -> None:
        """Say where in a browser it can be seen."""
        if self.console:
            self.narrator.say(f"see {self.console}{path}", "dim")

    def holder(self) -> tuple[str, int] | None:
        """Who holds the duty, and under which fence."""
        duty = self.store.fleet.snapshot()["duty"]
        return (name_of(duty["holder"]), duty["fence"]) if duty["holder"] else None

    def result(self, event: RunEvent) -> str:
        """What a successful run reported."""
        record = self.store.attempts.get(Occurrence(event.schedule_id, event.tick_ms))
        return (record.result_ref or "").partition(" ")[2]

    def duly(self, *words: str) -> None:
        """Run a `duly` command against this fleet, and show it; raises StoryStalled when it fails."""
        self.narrator.command("duly", *words)
        env = environment(self.store.settings)
        done = subprocess.run([*DULY, *words], env=env, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise StoryStalled(f"chapter {self.chapter}: 'duly {words[0]}' failed: {done.stderr.strip()[:200]}")

    def _tell(self, event: RunEvent) -> None:
        self._doing[name_of(event.worker)] = event.schedule_id if event.event == "began" else ""
        if event.event == "succeeded" and event.reason is None and self.shown(event):
            who = name_of(event.worker)
            again = f"attempt {event.attempt}: " if event.attempt > 1 else ""
            self.narrator.say(
                f"{event.schedule_id:<7} {clock_time(event.tick_ms)}  {who}  {again}{self.result(event)}",
                "" if "no change" in self.result(event) else "good",
            )

    def _seats(self) -> Sequence[Seat]:
        holder = self.holder()
        alive = {name: self.fleet.alive(name) for name in NAMES}
        return [
            Seat(name, alive[name], holder is not None and alive[name] and holder[0] == name, self._doing.get(name, ""))
            for name in NAMES
        ]
