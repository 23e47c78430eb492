"""What a page leaves out it says, and how to see it: plain links that go on where the list was cut."""

from __future__ import annotations

import re

import pytest

from duly.common.explain import cursors
from duly.common.store.searching import Wanted
from duly.scheduler.control.console import schedule, schedules
from duly.scheduler.control.console.live import Shown, mark_of
from tests.console.conftest import Console
from tests.console.reading import Page
from tests.store.conftest import Bench


def older(page: Page, name: str) -> str | None:
    return next((link for link in page.links if f"?{name}=" in link), None)


def ticks_in(page: Page, name: str) -> list[str]:
    """The ticks that one list of the page links to."""
    section = page.html.partition(f'id="r-{name}"')[2].partition("</section>")[0]
    return re.findall(r"/ticks/(\d+)", section)


@pytest.mark.parametrize("name", ["runs", "events"])
def test_older_ticks_are_behind_links_and_each_is_shown_once_while_new_ones_come(
    console: Console, bench: Bench, name: str
) -> None:
    bench.add(spec="@every:60000", overlap="allow")
    occurrences = [bench.due() for _ in range(50)]
    page, seen = console.get("/schedules/docs"), list[str]()
    assert f"Newest {name}" not in page.text
    while True:
        seen += ticks_in(page, name)
        link = older(page, name)
        if link is None:
            break
        bench.due()
        page = console.get(link)
        assert f"Newest {name}" in page.text
    assert seen == [str(each.tick_ms) for each in reversed(occurrences)]


def test_older_changes_are_behind_a_link(console: Console, bench: Bench) -> None:
    bench.add()
    for number in range(30):
        bench.store.schedules.pause("docs", f"pause {number}")
        bench.store.schedules.resume("docs")
    page = console.get("/schedules/docs")
    assert "pause 29" in page.text
    assert "pause 19" not in page.text
    page = console.get(older(page, "changes") or "")
    assert "pause 19" in page.text
    assert "pause 29" not in page.text


def test_a_list_that_is_whole_has_no_links(console: Console, bench: Bench) -> None:
    bench.add(spec="@every:60000")
    for _ in range(3):
        bench.due()
    page = console.get("/schedules/docs")
    assert [older(page, name) for name in ("runs", "events", "changes")] == [None, None, None]


def test_a_history_that_was_not_looked_through_says_so(
    console: Console, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "HISTORY_PAGE", 5)
    monkeypatch.setattr(schedule, "MOST_HISTORY", 5)
    bench.add(spec="@every:60000", overlap="allow")
    for _ in range(9):
        bench.due()
    assert "Only the latest transitions were looked through." in console.get("/schedules/docs").text


@pytest.mark.parametrize("name", ["runs", "events", "changes"])
@pytest.mark.parametrize("cursor", ["x", "AAAA", cursors.SCHEDULES.encode("docs")])
def test_a_cursor_of_another_list_is_one_clear_error(console: Console, bench: Bench, name: str, cursor: str) -> None:
    bench.add()
    assert "cursor" in console.get(f"/schedules/docs?{name}={cursor}", 400).text


def test_the_overview_says_how_much_more_waits_and_shows_runs_to_approve(console: Console, bench: Bench) -> None:
    for number in range(7):
        bench.add(schedule_id=f"s{number}", spec="@every:60000", approval="required")
    bench.due("s0")
    page = console.get("/")
    assert "to approve" in page.text
    assert "and 2 more" in page.text
    assert "7 occurrences waiting" in console.get("/holds").text


def test_searched_pages_follow_one_another_and_repeat_nobody(console: Console, bench: Bench) -> None:
    for number in range(30):
        bench.add(schedule_id=f"a{number:02}", review_owner="docs-team")
        bench.add(schedule_id=f"docs{number:02}", review_owner="docs-team")
    seen, path = list[str](), "/schedules?q=docs"
    while path:
        page = console.get(path)
        seen += [link for link in page.links if re.fullmatch(r"/schedules/\w+", link)]
        path = next((link for link in page.links if "cursor=" in link), "")
    first = [f"/schedules/docs{number:02}" for number in range(30)]
    assert seen == first + [f"/schedules/a{number:02}" for number in range(30)]


def test_a_searched_list_is_told_of_an_edit_by_which_a_schedule_comes_or_goes(bench: Bench) -> None:
    bench.add(schedule_id="a")
    bench.add(schedule_id="b", review_owner="bob")
    shown = Shown(found=Wanted("ann"))
    marks = [mark_of(bench.store, shown)]
    bench.store.schedules.pause("b", "n")
    assert mark_of(bench.store, shown) == marks[0]
    bench.store.schedules.update("b", {"review_owner": "ann"})
    marks.append(mark_of(bench.store, shown))
    bench.store.schedules.pause("a", "n")
    marks.append(mark_of(bench.store, shown))
    assert len(set(marks)) == 3


def test_a_searched_page_listens_to_what_it_shows(console: Console, bench: Bench) -> None:
    for number in range(30):
        bench.add(schedule_id=f"s{number:02}")
    wanted = Wanted("ann")
    assert 'data-live="/live?q=ann"' in console.get("/schedules?q=ann").html
    following = schedules.look(bench.store, wanted).next_cursor
    assert f'data-live="/live?q=ann&amp;cursor={following}"' in console.get(f"/schedules?q=ann&cursor={following}").html
    assert console.client.get("/live?q=ann&cursor=x").status_code == 400
