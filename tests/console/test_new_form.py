"""The form of a new schedule: it suggests, names the fields as the record does, and tells everything that is wrong."""

from __future__ import annotations

import pytest

from duly.common.errors import StoreUnavailable
from duly.common.store.fleet import FleetStore
from tests.console.conftest import Console
from tests.console.reading import Page
from tests.console.test_actions import NEW
from tests.store.conftest import Bench


def inputs_before_more(page: Page) -> list[str]:
    """The names of the inputs that are in sight before "More fields" is opened."""
    before = page.html.partition("<details")[0]
    return [name for name in page.attributes("name") if f'name="{name}"' in before]


def wrong(page: Page) -> set[str]:
    return {str(attrs["name"]) for _, attrs in page.tags if attrs.get("aria-invalid") == "true"}


def test_the_tasks_that_workers_announce_are_suggested(console: Console, bench: Bench) -> None:
    assert not [tag for tag, _ in console.get("/new").tags if tag == "datalist"]
    bench.store.fleet.beat("w.1", {"role": "worker", "tasks": ["docs.refresh", "docs.sync"], "queues": ["default"]})
    bench.add()
    for path in ("/new", "/schedules/docs/edit"):
        page = console.get(path)
        assert [a["list"] for tag, a in page.tags if tag == "input" and a.get("name") == "task"] == ["l-task"]
        assert {"docs.refresh", "docs.sync"} <= set(page.attributes("value"))


def test_a_store_that_is_away_costs_the_suggestions_and_not_the_form(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_self: FleetStore) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(FleetStore, "snapshot", away)
    assert console.get("/new").has_form("/new")


def test_arguments_are_among_the_first_fields(console: Console) -> None:
    assert {"spec", "task", "args", "kwargs", "review_owner"} <= set(inputs_before_more(console.get("/new")))


def test_each_label_names_the_field_of_the_record(console: Console, bench: Bench) -> None:
    text = console.get("/new").text
    for label in ("Expression spec", "Latest start, ms max_lateness_ms", "Attempts in all retry_budget"):
        assert label in text


def test_everything_that_is_wrong_is_told_at_once_and_marked(console: Console, bench: Bench) -> None:
    page = console.get("/new")
    given = {"schedule_id": "Not an id", "spec": "61 * * * *", "task": "no spaces", "review_owner": ""}
    given |= {"retry_budget": "many", "kwargs": "{", "backoff_factor": "0.5", "save": "1"}
    refused = console.post("/new", {**page.form("/new"), **NEW, **given}, 422)
    for told in ("schedule_id: must be 1-64", "task: must be a registered", "review_owner: must have at least"):
        assert told in refused.text.replace(" :", ":")
    for told in ("spec.minute: ", "retry_budget: must be a whole number", "kwargs: ", "backoff.factor: "):
        assert told in refused.text.replace(" :", ":")
    assert {"schedule_id", "spec", "task", "review_owner", "retry_budget", "backoff_factor"} <= wrong(refused)
    assert [attrs for tag, attrs in refused.tags if tag == "details" and "open" in attrs] != []
    assert refused.form("/new")["kwargs"] == "{"
    assert bench.store.schedules.page(10)[0] == []


def test_a_policy_is_explained_with_the_number_of_the_schedule(console: Console, bench: Bench) -> None:
    bench.add(missed_run_policy="backfill", backfill_limit=3)
    page = console.get("/schedules/docs").text
    assert "the 3 latest missed ticks run" in page
    assert "N latest" not in page
