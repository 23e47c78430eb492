"""A refused form is shown under the address that it was sent to, which can be asked for again."""

from __future__ import annotations

import pytest

from duly.common.identity import Occurrence
from tests.console.conftest import BASE, Console
from tests.store.conftest import Bench


@pytest.mark.parametrize("action", ["run", "pause", "resume", "release", "delete"])
def test_the_address_of_an_action_on_a_schedule_leads_to_its_page(console: Console, bench: Bench, action: str) -> None:
    bench.add()
    assert console.get(f"/schedules/docs/{action}").url == f"{BASE}/schedules/docs"
    assert bench.store.schedules.exists("docs")


@pytest.mark.parametrize("action", ["resolve", "approve"])
def test_the_address_of_an_action_on_a_hold_leads_to_its_page(
    console: Console, lived_in: Occurrence, action: str
) -> None:
    at = f"/holds/{lived_in.schedule_id}/{lived_in.tick_ms}"
    assert console.get(f"{at}/{action}").url == f"{BASE}{at}"
