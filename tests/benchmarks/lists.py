"""What a page costs in a large fleet, as a ratio to what it costs in a small one: it should not grow.

Both fleets are on one server. In each every schedule has the same few records, and what a page shows is as long: the
only difference is how much there is that it does not show.
"""

from __future__ import annotations

import gc
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from rich.table import Table

from duly.common.explain import cursors
from duly.common.settings import Settings
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from duly.scheduler.control.console.live import Shown, mark_of
from tests import servers
from tests.benchmarks.fleets import EVENTS, TRANSITIONS, Fleet, fill
from tests.benchmarks.measuring import Figures

SMALL = 100
REPEATS = 10
"""Requests to each in a round, of which the median counts."""
_ORIGIN = "http://127.0.0.1:8787"


@dataclass(frozen=True)
class Scaling:
    """Milliseconds for each subject in a small fleet and in a large one."""

    title: str
    subjects: dict[str, tuple[Figures, Figures]]

    def ratio(self, name: str) -> float:
        small, large = self.subjects[name]
        return large.median / small.median

    def table(self) -> Table:
        made = Table(title=self.title, title_justify="left", title_style="bold")
        made.add_column("page")
        for heading in ("small, ms", "large, ms", "spread", "ratio"):
            made.add_column(heading, justify="right")
        for name, (small, large) in self.subjects.items():
            spread = f"{large.low:.1f}-{large.high:.1f}"
            made.add_row(name, f"{small.median:.1f}", f"{large.median:.1f}", spread, f"{self.ratio(name):.2f}")
        return made

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "unit": "ms",
            "subjects": {
                name: {
                    **{
                        which: {"median": each.median, "low": each.low, "high": each.high, "rounds": each.rounds}
                        for which, each in zip(("small", "large"), both, strict=True)
                    },
                    "ratio": self.ratio(name),
                }
                for name, both in self.subjects.items()
            },
        }


def measure(rounds: int, size: int) -> Scaling:
    """On a Valkey of its own, without persistence, so that the disk has no say."""
    logging.disable(logging.INFO)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        port = stack.enter_context(servers.running(servers.valkey_binary(), Path(folder)))
        small, large = (
            dict(_subjects(stack, _fleet(port, prefix, schedules)))
            for prefix, schedules in (("small", SMALL), ("large", size))
        )
        records = size * (EVENTS + TRANSITIONS)
        title = f"{size:,} schedules and {records:,} records against {SMALL} and {SMALL * (EVENTS + TRANSITIONS):,}"
        subjects = {name: (Figures(), Figures()) for name in small}
        for number in range(-1, rounds):  # the first round only warms up
            for name, figures in subjects.items():
                taken_ms = _round((small[name], large[name]))
                if number >= 0:
                    for of_one, ms in zip(figures, taken_ms, strict=True):
                        of_one.rounds.append(ms)
        return Scaling(title, subjects)


def _fleet(port: int, prefix: str, schedules: int) -> Fleet:
    return fill(Store.connect(Settings(redis_url=f"redis://127.0.0.1:{port}/0", prefix=prefix)), schedules)


def _round(asked: Sequence[Callable[[], Any]]) -> list[float]:
    """Milliseconds of a request to each, asked in turn some times: the medians."""
    taken: list[list[float]] = [[] for _ in asked]
    gc.collect()
    for _ in range(REPEATS):
        for ask, times in zip(asked, taken, strict=True):
            started = time.perf_counter()
            ask()
            times.append((time.perf_counter() - started) * 1000)
    return [statistics.median(times) for times in taken]


def _subjects(stack: ExitStack, fleet: Fleet) -> Iterator[tuple[str, Callable[[], Any]]]:
    store, shown = fleet.store, fleet.ids[len(fleet.ids) // 2]
    client = stack.enter_context(TestClient(create_app(store), base_url=_ORIGIN))

    def get(path: str) -> Callable[[], Any]:
        def ask() -> None:
            reply = client.get(path)
            assert reply.status_code == 200, (path, reply.status_code, reply.text[:500])

        return ask

    def after(place: int) -> str:
        return cursors.SCHEDULES.encode(fleet.ids[place]) or ""

    held_after = cursors.HOLDS.encode(fleet.late_hold) or ""
    tick_ms, held = fleet.tick_ms, fleet.held
    api = "/api/v1"
    paths = {
        "API schedules, first page": f"{api}/periodic",
        "API schedules, middle page": f"{api}/periodic?cursor={after(len(fleet.ids) // 2 - 25)}",
        "API schedules, last page": f"{api}/periodic?cursor={after(-51)}",
        "API one schedule": f"{api}/periodic/{shown}",
        "API its events": f"{api}/periodic/{shown}/enqueue-events",
        "API its runs": f"{api}/periodic/{shown}/runs",
        "API its changes": f"{api}/periodic/{shown}/changes",
        "API occurrence": f"{api}/periodic/{shown}/occurrences/{tick_ms}",
        "API holds, first page": f"{api}/holds?limit=20",
        "API holds, later page": f"{api}/holds?limit=20&cursor={held_after}",
        "API approvals": f"{api}/holds?limit=20&kind=approval",
        "API fleet": f"{api}/fleet",
        "/metrics": "/metrics",
        "overview": "/",
        "schedules, first page": "/schedules",
        "schedules, last page": f"/schedules?cursor={after(-26)}",
        "search: begin of an id": f"/schedules?q={shown[:-1]}",
        "search: fits every one": "/schedules?q=ann",
        "search: fits none": "/schedules?q=nobody-at-all",
        "search: one in four": "/schedules?state=paused",
        "schedule": f"/schedules/{shown}",
        "occurrence": f"/schedules/{shown}/ticks/{tick_ms}",
        "holds, first page": "/holds",
        "holds, later page": f"/holds?cursor={held_after}",
        "review of a hold": f"/holds/{held.schedule_id}/{held.tick_ms}",
    }
    yield from ((name, get(path)) for name, path in paths.items())
    yield "look of a live page: overview", lambda: mark_of(store, Shown())
    yield "look of a live page: schedules", lambda: mark_of(store, Shown(listed_after=""))
    yield "store: page of schedules", lambda: store.schedules.page(50)
    yield "store: page of holds", lambda: store.holds.page(20)
    yield "store: runs of the fleet", lambda: store.trails.runs(None, 30)
    yield "store: the fleet", store.fleet.snapshot
