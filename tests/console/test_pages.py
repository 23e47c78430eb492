"""Every page, empty and lived in: it renders, it is well-formed, its links lead somewhere, nothing in it is inline."""

from __future__ import annotations

from collections import Counter

import pytest

from duly.common.identity import Occurrence
from tests.console.conftest import Console
from tests.console.reading import Page
from tests.store.conftest import Bench

EMPTY = ["/", "/schedules", "/schedules?q=docs&state=paused", "/holds", "/new", "/new/ticks?spec=0+9+*+*+*"]


def lived_in_pages(held: Occurrence) -> list[str]:
    at = f"{held.schedule_id}/{held.tick_ms}"
    return [
        *EMPTY,
        "/schedules?state=paused",
        "/schedules/docs",
        "/schedules/paused",
        "/schedules/" + "a" * 64,
        "/schedules/docs/edit",
        f"/holds/{at}",
        f"/schedules/docs/ticks/{held.tick_ms}",
        f"/schedules/feed/ticks/{held.tick_ms}",
    ]


def check(page: Page) -> None:
    """What holds for every page."""
    assert page.faults == []
    ids = Counter(page.attributes("id"))
    assert [each for each, number in ids.items() if number > 1] == []
    for tag, attrs in page.tags:
        assert not [name for name in attrs if name.startswith("on") or name == "style"], (tag, attrs)
        assert tag != "style"
        if tag == "script":
            assert (attrs.get("src") or "").startswith("/static/")
        if tag in {"input", "select", "textarea"} and attrs.get("type") != "hidden":
            assert attrs.get("id") in page.labelled, (tag, attrs)
        for name in ("aria-labelledby", "aria-describedby"):
            if attrs.get(name):
                assert attrs[name] in ids, (tag, attrs)
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", EMPTY)
def test_every_page_of_an_empty_fleet_renders_and_says_what_to_do(console: Console, path: str) -> None:
    page = console.get(path)
    check(page)
    assert "Traceback" not in page.text


def test_every_page_of_a_lived_in_fleet_is_well_formed(console: Console, lived_in: Occurrence) -> None:
    for path in lived_in_pages(lived_in):
        check(console.get(path))


def test_every_page_about_an_unusable_schedule_is_there(console: Console, bench: Bench, lived_in: Occurrence) -> None:
    pending = bench.events("feed")[0][0]
    for schedule_id in ("docs", "feed"):
        bench.backend.client.hset(bench.store.keys.schedule(schedule_id), "definition", "{}")
    check(console.get("/schedules/docs/edit", 409))
    for path in sorted({*lived_in_pages(lived_in), f"/schedules/feed/ticks/{pending}"} - {"/schedules/docs/edit"}):
        check(console.get(path))


def test_a_tick_that_ended_before_any_decision_waits_for_none(console: Console, bench: Bench) -> None:
    bench.add()
    gone = bench.due()
    path = f"/schedules/docs/ticks/{gone.tick_ms}"
    assert "Nothing has been decided yet" in console.get(path).text
    bench.store.schedules.delete("docs")
    assert "No decision was made." in console.get(path).text


def test_every_link_of_every_page_leads_somewhere(console: Console, lived_in: Occurrence) -> None:
    seen, ahead = set[str](), ["/"]
    while ahead and len(seen) < 200:
        path = ahead.pop()
        if path in seen or path.startswith("#"):
            continue
        seen.add(path)
        ahead += [link for link in console.get(path).links if link not in seen]
    assert {"/", "/schedules", "/holds", "/new", "/schedules/docs", "/schedules/docs/edit"} <= seen
    assert any(path.startswith("/holds/docs/") for path in seen)


def test_static_files_are_served_by_us(console: Console) -> None:
    page = console.get("/")
    files = [
        value
        for tag, attrs in page.tags
        for name in ("src", "href")
        if (value := attrs.get(name)) and "/static/" in value
    ]
    assert len(files) == 3
    for path in files:
        assert console.client.get(path).status_code == 200, path
