"""What Prometheus scrapes, read from the store at that moment: bounded work, and no label that grows with the fleet.

All are gauges of what the store knows now. Their sources:

* `duly_schedules`, `duly_holds`, `duly_approvals`, `duly_sweep_lag_seconds`, `duly_duty_*`, `duly_processes`,
  `duly_queue_depth`: the fleet's snapshot, as `duly fleet` shows it. `duly_duty_fence` grows whenever the duty changes
  hands; every change of it is a change of the holder.
* `duly_sweep_duration_seconds`: what the duty holder said in its last sign of life; absent until it says so.
* `duly_recent_*`: the latest `WINDOW` transitions in the fleet's run history, and over what time they came. They are
  no counters, since the history is capped: divide by `duly_recent_span_seconds` for a rate.

Queues are named by their users: the `QUEUES` longest have a series each, the others one together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fastapi import APIRouter
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.responses import Response

from duly.common.instant import to_ms
from duly.common.records.trail import RunEvent
from duly.scheduler.control.app import Reading
from duly.scheduler.control.document import problems

router = APIRouter(tags=["fleet"])

WINDOW = 1_000
QUEUES = 50
OTHERS = "(others)"
_ROLES = {"worker": {"idle", "busy"}, "scheduler": {"holding", "standby"}}
_RESULTS = ("succeeded", "retry", "held", "coalesced", "cancelled", "abandoned")
_QUANTILES = (0.5, 0.95, 1.0)
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
    snapshot = store.fleet.snapshot()
    recent, _ = store.trails.runs(None, WINDOW)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given([*_of_fleet(snapshot), *_of_history(recent)]))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class _Given(Collector):
    """Families that were read already."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


def _of_fleet(snapshot: Mapping[str, Any]) -> Iterator[GaugeMetricFamily]:
    duty = snapshot["duty"]
    yield _gauge("duly_schedules", "Schedules there are.", snapshot["schedules"])
    yield _gauge("duly_holds", "Occurrences that are held for their reviewer.", snapshot["holds"])
    yield _gauge("duly_approvals", "Runs that wait to be approved.", snapshot["approvals"])
    yield _gauge(
        "duly_sweep_lag_seconds", "How long the most overdue schedule waits for the sweep.", snapshot["lag_ms"] / 1000
    )
    yield _gauge("duly_duty_held", "Whether a process holds the duty.", int(duty["holder"] is not None))
    if duty["holder"] is not None:
        age_ms = to_ms(snapshot["now"], "now") - to_ms(duty["since"], "since")
        yield _gauge("duly_duty_fence", "Fencing token of the duty; larger after every change.", duty["fence"])
        yield _gauge("duly_duty_age_seconds", "How long its holder has had the duty.", age_ms / 1000)
    sweep_ms = next((each.get("sweep_ms") for each in snapshot["workers"] if each["name"] == duty["holder"]), None)
    if isinstance(sweep_ms, int | float):
        yield _gauge("duly_sweep_duration_seconds", "How long the latest sweep took.", sweep_ms / 1000)
    yield _labelled("duly_processes", "Processes that are there.", ("role", "state"), _processes(snapshot["workers"]))
    yield _labelled("duly_queue_depth", "Jobs in a queue.", ("queue",), _queues(snapshot["queues"]))


def _of_history(recent: Sequence[RunEvent]) -> Iterator[GaugeMetricFamily]:
    """From transitions, the newest first."""
    span_ms = recent[0].at_ms - recent[-1].at_ms if recent else 0
    yield _gauge("duly_recent_span_seconds", "Over what time the recent transitions came.", span_ms / 1000)
    enqueued = [event for event in recent if event.event == "enqueued"]
    kinds = Counter(event.reason for event in enqueued)
    told: Values = {(kind,): kinds[kind] for kind in ("scheduled", "manual")}
    yield _labelled("duly_recent_enqueued", "Occurrences made recently.", ("kind",), told)
    events = Counter(event.event for event in recent)
    yield _gauge("duly_recent_attempts", "Attempts begun recently.", events["began"])
    states = Counter(_result(event) for event in recent)
    results: Values = {(result,): states[result] for result in _RESULTS}
    yield _labelled("duly_recent_runs", "How runs ended, or stopped, recently.", ("result",), results)
    late = sorted(max(0, event.at_ms - event.tick_ms) for event in enqueued if event.reason == "scheduled")
    lateness: Values = {(str(q),): late[min(len(late) - 1, int(q * len(late)))] / 1000 for q in _QUANTILES if late}
    yield _labelled(
        "duly_recent_dispatch_lateness_seconds",
        "From a tick to its job, jitter and backlogs included, recently.",
        ("quantile",),
        lateness,
    )


def _result(event: RunEvent) -> str | None:
    """What the transition ended, in one word; None for one that ended nothing."""
    state = "retry" if event.state == "RETRY_WAIT" else event.state.lower()
    return state if event.event == state or (state == "retry" and event.event != "retry_due") else None


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
