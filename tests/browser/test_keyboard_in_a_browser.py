"""Whoever has no mouse can do everything, and sees at each stop where they are."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.records.occurrence import OccurrenceState
from duly.common.records.schedule import ScheduleState
from tests.browser.conftest import wait_for
from tests.browser.test_a_schedule_in_a_browser import held
from tests.store.conftest import Bench

MOST_STOPS = 60
RING = """() => {
  const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
}"""


def go_to(page: Any, target: Any) -> None:
    """Press Tab until the target has the focus; every stop before it shows that it has it."""
    target.wait_for()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        where = page.evaluate("document.activeElement.outerHTML.slice(0, 120)")
        assert page.evaluate(RING), f"no focus is to be seen on {where}"
        if target.evaluate("each => each === document.activeElement"):
            return
    pytest.fail(f"Tab does not lead to {target}")


def write(page: Any, label: str, text: str) -> None:
    go_to(page, page.get_by_label(label))
    page.keyboard.type(text)


def press(page: Any, role: str, name: str) -> None:
    go_to(page, page.get_by_role(role, name=name).first)
    page.keyboard.press("Enter")


def test_the_first_stop_of_a_page_skips_to_what_it_says(page: Any, site: str) -> None:
    page.goto(site)
    page.keyboard.press("Tab")
    assert page.locator(".skip").evaluate("each => each === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/#main")


def test_a_schedule_is_written_run_paused_resumed_and_deleted(page: Any, site: str, bench: Bench) -> None:
    page.goto(site)
    press(page, "link", "New schedule")
    write(page, "Id", "docs")
    write(page, "Expression", "0 9 * * *")
    wait_for(page, "#preview td", "09:00")
    write(page, "Task", "docs.refresh")
    go_to(page, page.get_by_label("Skip backlog"))
    page.keyboard.press("Space")
    write(page, "Review owner", "ann")
    press(page, "button", "Write the schedule")
    wait_for(page, ".notice", "The schedule is written.")
    press(page, "button", "Enqueue now")
    wait_for(page, ".notice", "Enqueued:")
    assert len(bench.queue()) == 1
    go_to(page, page.locator("summary", has_text="Pause"))
    page.keyboard.press("Enter")
    write(page, "Why", "by keyboard")
    page.keyboard.press("Enter")
    wait_for(page, ".notice", "Paused.")
    assert bench.store.schedules.get("docs").state is ScheduleState.PAUSED
    press(page, "button", "Resume")
    wait_for(page, ".notice", "Resumed.")
    go_to(page, page.locator("summary", has_text="Delete"))
    page.keyboard.press("Enter")
    write(page, "Type docs to delete it", "docs")
    page.keyboard.press("Enter")
    wait_for(page, ".notice", "Deleted:")
    assert not bench.store.schedules.exists("docs")


def test_a_hold_is_found_and_resolved(page: Any, site: str, bench: Bench) -> None:
    occurrence = held(bench)
    page.goto(site)
    press(page, "link", "Holds")
    press(page, "link", "Review")
    go_to(page, page.get_by_label("The effect did not happen"))
    page.keyboard.press("ArrowDown")
    write(page, "Your name", "ann")
    write(page, "What you looked at", "log 7")
    page.keyboard.press("Enter")
    wait_for(page, ".notice", "Resolved.")
    assert bench.record(occurrence).state is OccurrenceState.SUCCEEDED
