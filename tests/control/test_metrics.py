"""What Prometheus reads, and where it comes from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

from duly.common.identity import Occurrence
from tests.control.conftest import Api
from tests.store.conftest import Bench

COMPOSE = Path(__file__).parents[2] / "compose"


def samples(api: Api) -> dict[str, float]:
    """Every sample by its name and the values of its labels."""
    response = api("GET", "/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def test_an_empty_store_has_metrics_too(api: Api, bench: Bench) -> None:
    bench.backend.client.flushall()
    found = samples(api)
    assert (found["duly_schedules"], found["duly_duty_held"], found["duly_attempts_total"]) == (0, 0, 0)
    assert "duly_duty_fence" not in found


def test_metrics_tell_what_the_fleet_did(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    found = samples(api)
    assert (found["duly_schedules"], found["duly_holds"], found["duly_approvals"]) == (4, 1, 0)
    assert (found["duly_duty_held"], found["duly_duty_fence"]) == (1, float(api.get("fleet")["duty"]["fence"]))
    assert found["duly_processes worker idle"] == 1
    assert found["duly_attempts_total"] == 2
    assert (found["duly_runs_total succeeded"], found["duly_runs_total held"]) == (1, 1)
    assert found["duly_duty_changes_total"] == 2, "taken, and taken again when its minute was over"
    made = [e.reason for e in bench.store.trails.runs(None, 100)[0] if e.event == "enqueued"]
    assert found["duly_dispatch_lateness_seconds_count"] == made.count("scheduled") > 0
    assert found["duly_ticks_total enqueued accepted"] == made.count("scheduled")
    assert found["duly_queue_depth default"] == len(bench.queue())


def test_a_process_whose_word_cannot_be_read_costs_no_metric(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    before = samples(api)
    bench.backend.client.set(bench.store.keys.worker("host-1.1"), "not json")
    assert samples(api) == {**before, "duly_processes worker idle": 0}
    assert [each["name"] for each in api.get("fleet")["workers"]] == ["host-1.s"]


def test_the_lag_and_the_lateness_of_a_dispatch_are_told(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:60000")
    bench.pass_time(62_500)
    assert samples(api)["duly_sweep_lag_seconds"] == 2.5
    bench.sweep()
    found = samples(api)
    assert found["duly_sweep_lag_seconds"] == 0
    buckets = [found[f"duly_dispatch_lateness_seconds_bucket {le}"] for le in ("2.048", "4.096", "+Inf")]
    assert (buckets, found["duly_dispatch_lateness_seconds_sum"]) == ([0, 1, 1], 2.5)


def test_jitter_is_not_lateness(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:60000", jitter_window_ms=30_000)
    bench.due()
    assert samples(api)["duly_dispatch_lateness_seconds_sum"] == 0


def test_a_tick_later_than_the_last_class_is_counted_beyond_it(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:86400000", missed_run_policy="run_once")
    for late_ms in (4_194_304, 4_194_305):
        bench.pass_time(bench.store.schedules.get("docs").next_run_ms + late_ms - bench.store.schedules.now_ms())
        bench.sweep()
    found = samples(api)
    assert found["duly_dispatch_lateness_seconds_bucket 4194.304"] == 1
    assert found["duly_dispatch_lateness_seconds_count"] == 2


def test_dropped_ticks_are_all_counted(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:60000", missed_run_policy="run_once")
    bench.pass_time(10 * 60_000)
    bench.sweep()
    assert samples(api)["duly_ticks_total skipped backlog_dropped"] == 9


def test_restarting_the_console_or_trimming_the_history_loses_no_count(api: Api, bench: Bench) -> None:
    bench.add(spec="@every:60000")
    bench.due()
    before = samples(api)["duly_ticks_total enqueued accepted"]
    bench.backend.client.delete(bench.store.keys.fleet_runs, bench.store.keys.events("docs"))
    assert samples(api)["duly_ticks_total enqueued accepted"] == before == 1


def test_a_sweep_tells_how_long_it_took_once_the_duty_holder_says_so(api: Api, bench: Bench) -> None:
    assert "duly_sweep_duration_seconds" not in samples(api)
    bench.store.fleet.beat("tester.s", {"role": "scheduler", "state": "holding", "sweep_ms": 12.5})
    assert samples(api)["duly_sweep_duration_seconds"] == 0.0125


def test_a_count_that_is_none_is_no_crash(api: Api, bench: Bench) -> None:
    bench.backend.client.hset(bench.store.keys.totals, "tick:enqueued:accepted", "many")
    assert api("GET", "/metrics").status_code == 503


def test_alerts_and_dashboard_ask_for_metrics_that_there_are(api: Api, bench: Bench, lived_in: Occurrence) -> None:
    bench.store.fleet.beat("tester.s", {"role": "scheduler", "state": "holding", "sweep_ms": 1})
    known = {name.partition(" ")[0] for name in samples(api)}
    rules = yaml.safe_load((COMPOSE / "prometheus/rules.yaml").read_text("utf-8"))
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads((COMPOSE / "grafana/duly.json").read_text("utf-8"))
    asked += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) > 20
    for expression in asked:
        assert set(re.findall(r"duly_\w+", expression)) <= known, expression
