"""A page is told when there is something new to see; how many are told, and for how long, is bounded."""

from __future__ import annotations

import asyncio

import fakeredis
import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from duly.scheduler.control.app import create_app
from duly.scheduler.control.console import live
from duly.scheduler.control.console.live import Shown, Streamed, Watch, mark_of
from tests.console.conftest import Console
from tests.store.conftest import Bench


async def first_events(watch: Watch, shown: Shown, act: list[object], number: int) -> list[str]:
    """The first events of a stream; before each but the first two something is done."""
    stream, said = watch.stream(shown), list[str]()
    for n in range(number):
        if n >= 2 and act:
            act.pop(0)()  # type: ignore[operator]
        said.append(await anext(stream))
    await stream.aclose()  # type: ignore[attr-defined]
    return said


def test_a_change_is_told_and_quiet_is_not(bench: Bench) -> None:
    bench.add()
    watch = Watch(bench.store, look_every_s=0.01)
    said = asyncio.run(
        first_events(watch, Shown("docs"), [lambda: bench.store.schedules.pause("docs", "n"), lambda: None], 4)
    )
    assert "event: live" in said[0]
    assert ["changed" in each for each in said] == [False, False, True, False]


def test_a_store_that_goes_away_is_told(bench: Bench, server: fakeredis.FakeServer) -> None:
    watch = Watch(bench.store, look_every_s=0.01)

    def away() -> None:
        server.connected = False

    said = asyncio.run(first_events(watch, Shown(), [away], 3))
    server.connected = True
    assert "event: away" in said[2]


def test_what_a_page_shows_changes_its_mark(bench: Bench) -> None:
    marks = [mark_of(bench.store, Shown())]
    bench.add(spec="@every:60000")
    marks.append(mark_of(bench.store, Shown()))
    occurrence = bench.due()
    marks.append(mark_of(bench.store, Shown()))
    bench.running(occurrence)
    marks.append(mark_of(bench.store, Shown()))
    bench.store.fleet.beat("vm.1", {"role": "worker", "state": "idle"})
    marks.append(mark_of(bench.store, Shown()))
    assert len(set(marks)) == len(marks)
    assert mark_of(bench.store, Shown()) == marks[-1]


def test_only_so_many_pages_are_live_at_once_and_one_that_goes_makes_room(bench: Bench) -> None:
    watch = Watch(bench.store)
    assert all(watch.enter() for _ in range(live.MOST_STREAMS))
    assert not watch.enter()
    watch.leave()
    assert watch.enter()


def test_pages_that_come_all_at_once_get_no_more_places(bench: Bench) -> None:
    app = create_app(bench.store)
    statuses = list[int]()

    async def ask(hold: asyncio.Event) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Message:
            await hold.wait()
            return {"type": "http.disconnect"}

        headers = [(b"host", b"127.0.0.1")]
        scope = {"type": "http", "method": "GET", "path": "/live", "query_string": b"", "headers": headers}
        await app({**scope, "scheme": "http", "server": ("127.0.0.1", 80), "root_path": ""}, receive, told)

    async def burst() -> None:
        hold = asyncio.Event()
        asked = [asyncio.create_task(ask(hold)) for _ in range(live.MOST_STREAMS * 2)]
        async with asyncio.timeout(20):
            while len(statuses) < len(asked):
                await asyncio.sleep(0)
        hold.set()
        await asyncio.gather(*asked)

    asyncio.run(burst())
    assert sorted(statuses) == [200] * live.MOST_STREAMS + [503] * live.MOST_STREAMS


def test_a_page_that_finds_no_place_is_told_to_look_by_itself(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_STREAMS", 0)
    assert console.client.get("/live").status_code == 503


def test_a_stream_ends_after_its_time(bench: Bench) -> None:
    class Clock:
        now_ms = 0.0

        def monotonic_ms(self) -> float:
            self.now_ms += live.LONGEST_S * 500
            return self.now_ms

    async def whole() -> int:
        watch = Watch(bench.store, clock=Clock(), look_every_s=0.0)
        return len([each async for each in watch.stream(Shown())])

    assert asyncio.run(whole()) <= 3


def test_a_schedule_that_is_no_id_gets_no_stream(console: Console) -> None:
    assert console.client.get("/live?schedule=%3Cscript%3E").status_code == 422


def test_a_list_is_told_of_a_change_to_a_schedule_that_it_shows(bench: Bench) -> None:
    bench.add(schedule_id="a")
    bench.add(schedule_id="b")
    first, rest = Shown(listed_after=""), Shown(listed_after="a")
    before = mark_of(bench.store, first), mark_of(bench.store, rest)
    bench.store.schedules.pause("a", "n")
    assert mark_of(bench.store, first) != before[0]
    assert mark_of(bench.store, rest) == before[1]


def test_a_page_that_goes_before_its_first_event_gives_its_place_back(bench: Bench) -> None:
    watch = Watch(bench.store)

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def nowhere(_: Message) -> None:
        raise OSError("the page is gone")

    async def ask() -> None:
        assert watch.enter()
        with pytest.raises((OSError, ClientDisconnect)):
            await Streamed(watch, Shown())({"type": "http", "asgi": {"spec_version": "2.4"}}, gone, nowhere)

    asyncio.run(ask())
    assert [watch.enter() for _ in range(live.MOST_STREAMS + 1)] == [True] * live.MOST_STREAMS + [False]


def test_the_headers_of_a_stream_can_be_asked_for_by_themselves(console: Console) -> None:
    reply = console.client.head("/live")
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["content-type"].startswith("text/event-stream")
