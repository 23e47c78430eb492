"""Ordinary RQ jobs on a queue of the fleet: ours run as RQ runs them, and nothing else runs at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from rq import Callback, Queue
from rq.job import Job, JobStatus
from rq.registry import FailedJobRegistry
from rq.serializers import JSONSerializer

from duly.common.records.occurrence import OccurrenceState
from tests.fleet import fleet_tasks
from tests.fleet.harness import Fleet
from tests.fleet.processes import wait_until

pytestmark = pytest.mark.fleet

ORDINARY = f"{fleet_tasks.__name__}.ordinary"


def test_a_function_of_a_task_module_runs_and_foreign_code_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    queue = Queue("default", connection=fleet.rq, serializer=JSONSerializer)
    pickling = Queue("default", connection=fleet.rq)
    trace = tmp_path / "foreign-code-ran"
    command = f"touch {trace}"
    refused: list[Job] = [
        queue.enqueue("os.system", command),
        queue.enqueue(f"{fleet_tasks.__name__}.os.system", command),
        queue.enqueue("subprocess.getoutput", command),
        queue.enqueue(f"{fleet_tasks.__name__}.Path.touch", str(trace)),
        queue.enqueue("builtins.exec", f"open({str(trace)!r}, 'w')"),
        queue.enqueue(ORDINARY, "callback", on_success=Callback("os.system")),
        queue.enqueue(ORDINARY, "callback", on_failure=Callback(f"{fleet_tasks.__name__}.os.system")),
        queue.enqueue(ORDINARY, "callback", on_stopped=Callback("os.system")),
        pickling.enqueue(fleet_tasks.ordinary, "pickled"),
    ]
    accepted = queue.enqueue(ORDINARY, "mine")
    fleet.start("a")
    wait_until(lambda: fleet.effects("ordinary", label="mine"), "the ordinary job runs")
    wait_until(lambda: accepted.get_status() == "finished", "it finished")
    registry = FailedJobRegistry("default", connection=fleet.rq, serializer=JSONSerializer)
    wait_until(lambda: set(registry.get_job_ids()) >= {job.id for job in refused}, "the others are refused")
    assert [each.label for each in fleet.effects("ordinary")] == ["mine"]
    assert not trace.exists()
    ours = fleet.once("ours", "fleet.unsafe")
    fleet.wait_for_state(ours, OccurrenceState.SUCCEEDED)


def test_a_pickled_job_with_pickled_metadata_stops_nobody(fleet: Fleet, tmp_path: Path) -> None:
    pickling = Queue("default", connection=fleet.rq)
    poison = pickling.enqueue(fleet_tasks.ordinary, "pickled", meta={"any": "thing"})
    worker = fleet.start("a").pid_of("1")
    ours = fleet.once("ours", "fleet.unsafe")
    fleet.wait_for_state(ours, OccurrenceState.SUCCEEDED)
    registry = FailedJobRegistry("default", connection=fleet.rq, serializer=JSONSerializer)
    wait_until(lambda: poison.id in registry.get_job_ids(), "the pickled job is refused on record", 10)
    assert not fleet.effects("ordinary")
    assert fleet.containers["a"].pid_of("1") == worker, "the worker was not brought down"


def test_a_callback_that_rq_s_maintenance_would_call_is_refused_too(fleet: Fleet) -> None:
    """RQ calls the failure callback of a job that was lost, in the worker itself and without executing the job."""
    lost = Job.create("nowhere.f", connection=fleet.rq, serializer=JSONSerializer, origin="default", id="lost")
    lost._failure_callback_name = "builtins.print"
    lost.set_status(JobStatus.STARTED)
    lost.save()
    fleet.rq.zadd("rq:wip:default", {"lost:execution": 1})
    fleet.start("a")
    registry = FailedJobRegistry("default", connection=fleet.rq, serializer=JSONSerializer)
    wait_until(lambda: "lost" in registry.get_job_ids(), "RQ's maintenance fails the lost job")
    assert "nowhere.f" not in (fleet.folder / "a.log").read_text()
