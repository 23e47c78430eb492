"""What only a browser shows: pages change by themselves, nothing is cut off, and no mouse is needed."""

from __future__ import annotations

from typing import Any

import fakeredis
import pytest

from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceState
from tests.browser.conftest import Complaints, wait_for
from tests.console.test_pages import lived_in_pages
from tests.store.conftest import Bench


def pages(lived_in: Occurrence) -> list[str]:
    """The addresses that people go to; a preview is only ever fetched into one of them."""
    return [path for path in lived_in_pages(lived_in) if not path.startswith("/new/ticks")]


def test_a_change_that_somebody_else_makes_appears_by_itself(page: Any, site: str, bench: Bench) -> None:
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    wait_for(page, "#status", "live")
    bench.store.schedules.pause("docs", "seen elsewhere")
    wait_for(page, "#r-stands", "seen elsewhere")


def test_the_countdown_runs_without_asking_the_server(
    page: Any, site: str, bench: Bench, complaints: Complaints
) -> None:
    complaints.expect("net::ERR_FAILED")
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    before = page.locator(".next .rel").inner_text()
    page.route("**/*", lambda route: route.abort())
    page.wait_for_function("before => document.querySelector('.next .rel').textContent !== before", arg=before)


def test_a_store_that_is_away_shows_and_comes_back_by_itself(
    page: Any, site: str, bench: Bench, server: fakeredis.FakeServer, complaints: Complaints
) -> None:
    complaints.expect("the server responded with a status of 503")
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules")
    wait_for(page, "#status", "live")
    server.connected = False
    wait_for(page, "#status[data-is=reconnecting]", "")
    assert page.locator("#r-list").inner_text()  # what was read stays readable
    page.goto(f"{site}/schedules")
    wait_for(page, "h1", "Redis cannot be reached")
    server.connected = True
    wait_for(page, "#r-list", "docs")


def test_a_form_that_is_sent_while_the_store_is_away_leads_back_to_its_page(
    page: Any, site: str, bench: Bench, server: fakeredis.FakeServer, complaints: Complaints
) -> None:
    complaints.expect("the server responded with a status of 503")
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    server.connected = False
    page.get_by_role("button", name="Enqueue now").click()
    wait_for(page, "h1", "Redis cannot be reached")
    server.connected = True
    page.wait_for_url(f"{site}/schedules/docs")
    wait_for(page, "#r-stands", "active")
    assert bench.queue() == []


def test_a_page_that_shows_why_a_form_was_refused_stays_current(
    page: Any, site: str, bench: Bench, complaints: Complaints
) -> None:
    complaints.expect("the server responded with a status of 422")
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    page.locator("summary", has_text="Delete").click()
    page.get_by_label("Type docs to delete it").fill("dosc")
    page.get_by_role("button", name="Delete").click()
    wait_for(page, ".notice", "type docs to delete it")
    wait_for(page, "#status[data-is=live]")
    bench.store.schedules.pause("docs", "seen elsewhere")
    wait_for(page, "#r-stands", "seen elsewhere")


def test_a_preview_is_drawn_while_one_types(page: Any, site: str) -> None:
    page.goto(f"{site}/new")
    page.get_by_label("Expression").press_sequentially("CRON_TZ=Europe/Berlin 30 2 * * *", delay=5)
    wait_for(page, "#preview", "02:30 does not exist on that day")


def test_a_live_update_leaves_what_is_being_typed_alone(page: Any, site: str, bench: Bench) -> None:
    bench.add(spec="@every:3600000")
    page.goto(f"{site}/schedules/docs")
    wait_for(page, "#status", "live")
    page.locator("summary", has_text="Pause").click()
    page.get_by_label("Why").fill("half a note")
    bench.store.manual.run("docs", "k")
    wait_for(page, "#r-runs", "an extra run")
    assert page.get_by_label("Why").input_value() == "half a note"


def test_a_hold_is_resolved_without_scripts(scriptless: Any, site: str, bench: Bench, lived_in: Occurrence) -> None:
    scriptless.goto(f"{site}/")
    scriptless.get_by_role("link", name="Holds").click()
    scriptless.get_by_role("link", name="Review").first.click()
    scriptless.get_by_label("The effect happened").check()
    scriptless.get_by_label("Your name").fill("ann")
    scriptless.get_by_label("What you looked at").fill("log 7")
    scriptless.get_by_role("button", name="Resolve the hold").click()
    wait_for(scriptless, ".notice", "Resolved.")
    assert bench.record(lived_in).state is OccurrenceState.SUCCEEDED


def test_no_page_makes_the_browser_complain(page: Any, site: str, lived_in: Occurrence) -> None:
    for path in pages(lived_in):
        page.goto(site + path)
        if page.locator("body[data-live]").count():
            wait_for(page, "#status[data-is=live]")


def test_nothing_is_cut_off_on_a_narrow_screen(narrow: Any, site: str, lived_in: Occurrence) -> None:
    for path in pages(lived_in):
        narrow.goto(site + path)
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 380, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(page: Any, site: str, lived_in: Occurrence, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for path in pages(lived_in):
        page.goto(site + path)
        assert page.evaluate(CONTRAST) == [], path


# WCAG 2: every text of its own at 4.5 to 1, large text at 3 to 1; buttons that are off are exempt.
CONTRAST = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (css) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css; canvas.fillRect(0, 0, 1, 1);
    const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255];
  };
  const over = (top, under) => [0, 1, 2].map((n) => top[n] * top[3] + under[n] * (1 - top[3]));
  const ground = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.push(rgba(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  for (const each of document.querySelectorAll('body *')) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || each.closest('svg, [disabled], .vh, .skip') || !each.offsetParent) continue;
    const style = getComputedStyle(each), under = ground(each);
    const [a, b] = [light(over(rgba(style.color), under)), light(under)].sort((x, y) => y - x);
    const needed = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if ((a + 0.05) / (b + 0.05) < needed) {
      faint.push([each.tagName, each.className, each.textContent.trim().slice(0, 30), (a + 0.05) / (b + 0.05)]);
    }
  }
  return faint.slice(0, 5);
}"""
