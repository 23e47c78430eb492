"""A dead process is not shown as alive, and a schedule that no worker can run is not shown as healthy."""

from __future__ import annotations

from duly.common.explain.presence import UNSEEN_AFTER_MS
from duly.common.store.holds import Resolution
from tests.console.conftest import Console
from tests.console.test_actions import held
from tests.store.conftest import Bench


def worker(bench: Bench, name: str = "w.1", **details: object) -> None:
    told = {"role": "worker", "state": "idle", "queues": ["default"], "tasks": ["docs.refresh"], **details}
    bench.store.fleet.beat(name, told)


def test_after_a_failover_only_the_holder_of_the_duty_is_shown_as_holding(console: Console, bench: Bench) -> None:
    for name in ("gone.s", "tester.s"):
        bench.store.fleet.beat(name, {"role": "scheduler", "state": "holding"})
    page = console.get("/").text
    assert "gone.s scheduler standby" in page
    assert "tester.s duty scheduler holding" in page


def test_a_process_that_is_silent_is_greyed_and_not_counted(console: Console, bench: Bench) -> None:
    bench.add()
    worker(bench, "dead.1", state="busy", occurrence=str(bench.due()))
    bench.pass_time(UNSEEN_AFTER_MS + 8_000)
    worker(bench, "well.1")
    page = console.get("/")
    assert "dead.1 worker not seen for 40 s last known: docs" in page.text
    assert "1 process is there." in page.text
    assert [attrs for tag, attrs in page.tags if tag == "tr" and attrs.get("class") == "gone"] != []
    assert "busy" not in page.text


def test_a_schedule_whose_task_no_worker_knows_is_marked_in_the_list(console: Console, bench: Bench) -> None:
    bench.add(schedule_id="fine")
    bench.add(schedule_id="lost", task="docs.nowhere")
    assert "no worker for it" not in console.get("/schedules").text
    worker(bench)
    page = console.get("/schedules").text
    assert page.count("no worker for it") == 1
    assert "no running worker knows task 'docs.nowhere'" in page


def test_a_worker_that_is_silent_counts_for_no_task(console: Console, bench: Bench) -> None:
    bench.add()
    worker(bench, "dead.1")
    bench.pass_time(UNSEEN_AFTER_MS + 1_000)
    worker(bench, "well.1", tasks=["docs.other"])
    assert "no running worker knows task 'docs.refresh'" in console.get("/schedules").text
    assert "no running worker knows task 'docs.refresh'" in console.get("/schedules/docs").text


def test_release_is_offered_only_where_it_would_run_a_tick_that_a_quarantine_skipped(
    console: Console, bench: Bench
) -> None:
    bench.add(schedule_id="other")
    occurrence = held(bench)
    assert not console.get("/schedules/docs").has_form("/schedules/docs/release")
    bench.pass_time(1_000)
    bench.sweep()
    assert not console.get("/schedules/docs").has_form("/schedules/docs/release")
    bench.store.holds.resolve(occurrence, Resolution.COMMITTED, "ann", "log 7")
    page = console.get("/schedules/docs")
    assert "the latest tick that passed while the schedule was quarantined" in page.text
    assert "Released:" in console.send(page, "/schedules/docs/release").text
    assert not console.get("/schedules/docs").has_form("/schedules/docs/release")
    assert not console.get("/schedules/other").has_form("/schedules/other/release")
