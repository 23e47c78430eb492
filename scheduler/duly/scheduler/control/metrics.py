"""What Prometheus scrapes, read from the store at that moment: bounded work, and no label that grows with the fleet.

Gauges tell what the fleet is now, from the snapshot that `duly fleet` shows. Counters tell what has happened since the
store was new; they are kept in the store, in the scripts that change what they count, so any console answers alike, and
restarting one loses nothing. `duly_sweep_duration_seconds` is what the duty holder said in its last sign of life; there
is none until it says so.

Queues are named by their users: the `QUEUES` longest have a series each, the others one together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from fastapi import APIRouter
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.responses import Response

from duly.common.explain.presence import present, told_fleet
from duly.common.instant import to_ms
from duly.common.records.totals import LATENESS_BOUNDS_MS, Totals
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems

router = APIRouter(tags=["fleet"])

QUEUES = 50
OTHERS = "(others)"
_ROLES = {"worker": {"idle", "busy"}, "scheduler": {"holding", "standby"}}
_RESULTS = ("succeeded", "retry", "held", "coalesced", "cancelled", "abandoned")
Values: TypeAlias = dict[tuple[str, ...], float]
"""By the values of the labels."""


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
    operation_id="metrics",
)
def metrics(store: Reading) -> Response:
    """Metrics of the fleet in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given([*_of_fleet(store.fleet.snapshot()), *_of_totals(store.fleet.totals())]))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Given(Collector):
    """Families that were read already."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _of_fleet(snapshot: Mapping[str, Any]) -> Iterator[Metric]:
    duty = snapshot["duty"]
    yield _gauge("duly_schedules", "Schedules there are.", snapshot["schedules"])
    yield _gauge("duly_holds", "Occurrences that are held for their reviewer.", snapshot["holds"])
    yield _gauge("duly_approvals", "Runs that wait to be approved.", snapshot["approvals"])
    yield _gauge(
        "duly_sweep_lag_seconds", "How long the most overdue schedule has been due.", snapshot["lag_ms"] / 1000
    )
    yield _gauge(
        "duly_failing", "Schedules whose due tick could not be enqueued, and is still due.", snapshot["failing"]
    )
    yield _gauge("duly_duty_held", "Whether a process holds the duty.", int(duty["holder"] is not None))
    if duty["holder"] is not None:
        age_ms = to_ms(snapshot["now"], "now") - to_ms(duty["since"], "since")
        yield _gauge("duly_duty_fence", "Fencing token of the duty; larger after every change.", duty["fence"])
        yield _gauge("duly_duty_age_seconds", "How long its holder has had the duty.", age_ms / 1000)
    sweep_ms = next((each.get("sweep_ms") for each in snapshot["workers"] if each["name"] == duty["holder"]), None)
    if isinstance(sweep_ms, int | float):
        yield _gauge(
            "duly_sweep_duration_seconds",
            "The longest sweep between two signs of life of the duty holder.",
            sweep_ms / 1000,
        )
    yield _labelled(
        "duly_processes",
        "Processes that are there.",
        ("role", "state"),
        _processes(present(told_fleet(snapshot)["workers"])),
    )
    yield _labelled("duly_queue_depth", "Jobs in a queue.", ("queue",), _queues(snapshot["queues"]))


def _of_totals(totals: Totals) -> Iterator[Metric]:
    ticks = CounterMetricFamily(
        "duly_ticks", "What became of due ticks; a failure counts each time.", labels=("outcome", "reason")
    )
    for key, count in sorted(totals.ticks.items()):
        ticks.add_metric(key, count)
    yield ticks
    runs = CounterMetricFamily("duly_runs", "How runs ended, or stopped.", labels=("result",))
    results = Counter[str]()
    for (event, state), count in totals.transitions.items():
        results[_result(event, state)] += count
    for result in _RESULTS:
        runs.add_metric((result,), results[result])
    yield runs
    began = sum(count for (event, _), count in totals.transitions.items() if event == "began")
    yield CounterMetricFamily("duly_attempts", "Attempts that were begun.", value=began)
    yield CounterMetricFamily("duly_duty_changes", "How often a process took the duty.", value=totals.duty_changes)
    bounds = [*(f"{bound / 1000}" for bound in LATENESS_BOUNDS_MS), "+Inf"]
    yield HistogramMetricFamily(
        "duly_dispatch_lateness_seconds",
        "From the instant at which a tick is due, jitter included, to its occurrence.",
        buckets=list(zip(bounds, accumulate(totals.lateness), strict=True)),
        sum_value=totals.lateness_ms / 1000,
    )


def _result(event: str, state: str) -> str:
    """What the transition ended, in one word; no word of a result for one that ended nothing."""
    if state == "RETRY_WAIT" and event != "retry_due":
        return "retry"
    return event if event == state.lower() else ""


def _processes(workers: Sequence[Mapping[str, Any]]) -> Values:
    counts: Values = {(role, state): 0 for role, states in _ROLES.items() for state in states}
    for each in workers:
        key = (_known(each.get("role"), _ROLES), _state(each))
        counts[key] = counts.get(key, 0) + 1
    return counts


def _state(process: Mapping[str, Any]) -> str:
    return _known(process.get("state"), _ROLES.get(str(process.get("role")), ()))


def _known(word: Any, words: Iterable[str]) -> str:
    return word if isinstance(word, str) and word in words else "other"


def _queues(queues: Sequence[Mapping[str, Any]]) -> Values:
    longest = sorted(queues, key=lambda each: (-each["length"], each["name"]))
    depths: Values = {(str(each["name"]),): float(each["length"]) for each in longest[:QUEUES]}
    if longest[QUEUES:]:
        depths[(OTHERS,)] = sum(each["length"] for each in longest[QUEUES:])
    return depths


def _gauge(name: str, told: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, told, value=value)


def _labelled(name: str, told: str, labels: Sequence[str], values: Values) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, told, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
