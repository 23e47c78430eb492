"""A worker's turn: the last success recorded, the next job taken and claimed, and RQ told, in one script."""

from __future__ import annotations

import itertools
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from rq import Queue
from rq.executions import Execution
from rq.job import Job, JobStatus
from rq.registry import FinishedJobRegistry, StartedJobRegistry
from rq.serializers import JSONSerializer
from rq.utils import now, utcformat

from duly.common.identity import Occurrence, new_token
from duly.common.store.attempts import Claim, Ending
from duly.common.store.turns import Hand, Last, Met, Moment, Success, Turn
from tests.conftest import Backend
from tests.store.conftest import Bench

HOUR_MS = 3_600_000


_numbers = itertools.count(1)


def turn(bench: Bench, **fields: Any) -> Turn:
    moment = Moment(time.time(), "2026-01-01T00:00:00.500000Z")
    asked = {
        "queues": ["default"],
        "tasks": ["docs.refresh", "b"],
        "token": new_token(),
        "owner": "w@1.1",
        "number": next(_numbers),
        **fields,
    }
    return bench.store.turns.turn("w", moment, **asked)


def delivered(bench: Bench, *schedule_ids: str, **fields: Any) -> list[Occurrence]:
    """One occurrence of each schedule, enqueued in this order, and none that is newer."""
    found = []
    fields = {"lease_ttl_ms": 30_000, **fields}
    for each in schedule_ids:
        tick_ms = (bench.add(schedule_id=each, spec=f"@every:{HOUR_MS}", **fields).next_run_ms or 0) - HOUR_MS
        bench.backend.client.hset(bench.store.keys.schedule(each), "next_run_ms", tick_ms)
        bench.backend.client.zadd(bench.store.keys.due, {each: tick_ms})
        bench.sweep()
        found.append(Occurrence(each, tick_ms))
    return found


def begun(bench: Bench, met: Turn) -> Last:
    """The attempt of a turn, begun and done."""
    assert met.grant is not None
    assert met.grant.lease is not None
    assert met.hand is not None
    bench.begin(met.grant.lease)
    return Last(met.hand, Success(met.grant.lease, "ref"))


def test_the_next_job_is_taken_and_its_occurrence_claimed(bench: Bench) -> None:
    first, second = delivered(bench, "a", "b")
    met = turn(bench)
    assert (met.met, met.ending, met.occurrence) == (Met.TAKEN, None, first)
    assert met.grant is not None
    assert met.grant.claim is Claim.ACQUIRED
    assert met.grant.evidence is not None
    assert met.grant.evidence.fields["lease_id"] == bench.record(first).lease_id
    assert bench.record(first).lease_owner == "w@1.1"
    assert [job for job in bench.queue() if "-b-" in job] == bench.queue()
    assert turn(bench).occurrence == second
    assert turn(bench).met is Met.EMPTY


def test_the_last_success_is_recorded_before_the_next_is_claimed(bench: Bench) -> None:
    first, second = delivered(bench, "a", "b")
    met = turn(bench, last=begun(bench, turn(bench)))
    assert (met.ending, met.occurrence) == (Ending.RECORDED, second)
    assert (bench.record(first).state, bench.record(first).result_ref) == ("SUCCEEDED", "ref")


def test_a_turn_whose_answer_was_lost_is_asked_again_and_gives_the_same(bench: Bench) -> None:
    delivered(bench, "a", "b")
    last = begun(bench, turn(bench))
    asked = {"last": last, "token": new_token(), "number": next(_numbers)}
    once = turn(bench, **asked)
    again = turn(bench, **asked)
    assert (again.ending, again.hand, again.occurrence) == (once.ending, once.hand, once.occurrence)
    assert once.grant is not None
    assert again.grant is not None
    assert again.grant.lease is not None
    assert once.grant.lease is not None
    assert again.grant.lease.token == once.grant.lease.token
    assert again.grant.lease.fencing_token == once.grant.lease.fencing_token
    assert bench.queue() == []
    finished = FinishedJobRegistry("default", connection=bench.backend.client)
    assert len(finished.get_job_ids()) == 1


def test_a_job_in_hand_is_claimed_and_leaves_the_list_that_rq_moved_it_to(bench: Bench) -> None:
    (occurrence,) = delivered(bench, "a")
    client = bench.backend.client
    job_id = client.lmove("rq:queue:default", "rq:queue:default:intermediate", "LEFT", "RIGHT")
    met = turn(bench, given=Hand(job_id, "default"))
    assert met.occurrence == occurrence
    assert client.llen("rq:queue:default:intermediate") == 0


def test_a_moment_is_written_as_rq_writes_it() -> None:
    for instant in (now(), datetime(2026, 1, 1, tzinfo=UTC)):
        assert Moment.of(instant).text == utcformat(instant)


def test_queues_are_looked_at_in_order(bench: Bench) -> None:
    (low,), (high,) = delivered(bench, "low", queue="low"), delivered(bench, "high", queue="high")
    assert turn(bench, queues=["high", "low"]).occurrence == high
    assert turn(bench, queues=["high", "low"]).occurrence == low


@pytest.mark.parametrize("whole", [True, False])
def test_an_occurrence_that_something_else_has_written_over_stops_no_worker(bench: Bench, whole: bool) -> None:
    bench.doctored = True
    first, broken, third = delivered(bench, "a", "b", "c")
    key = bench.store.keys.occurrence(broken)
    if whole:
        bench.backend.client.set(key, "something else")
    else:
        bench.backend.client.hset(key, "attempt", "many")
    last = begun(bench, turn(bench))
    met = turn(bench, last=last)
    assert (met.met, met.occurrence, met.ending) == (Met.UNREADABLE, broken, Ending.RECORDED)
    assert bench.record(first).state == "SUCCEEDED"
    assert met.hand is not None
    following = turn(bench, last=Last(met.hand))
    assert (following.met, following.occurrence) == (Met.TAKEN, third)


def test_a_record_that_is_written_over_while_its_task_runs_stops_no_worker(bench: Bench) -> None:
    bench.doctored = True
    first, second = delivered(bench, "a", "b")
    last = begun(bench, turn(bench))
    bench.backend.client.set(bench.store.keys.occurrence(first), "something else")
    met = turn(bench, last=last)
    assert (met.met, met.occurrence, met.ending) == (Met.TAKEN, second, Ending.MISSING)


def test_a_task_that_is_not_registered_is_refused_on_record_and_left_for_others(bench: Bench) -> None:
    (occurrence,) = delivered(bench, "a")
    met = turn(bench, tasks=["docs.refres", "docs"])
    assert (met.met, met.occurrence) == (Met.REFUSED, occurrence)
    assert bench.record(occurrence).state == "PENDING"
    assert bench.history("a")[-1] == "refused"


@pytest.mark.parametrize(
    "data",
    [
        b'["os.system",null,["a",1,1],{}]',
        b'["duly.worker.entry.attempt_occurrence",null,["a",1,1],{"x":1}]',
        b'["duly.worker.entry.attempt_occurrence",null,["../a",1,1],{}]',
        b'["duly.worker.entry.attempt_occurrence",null,["a",1e3,1],{}]',
        b'["duly.worker.entry.attempt_occurrence",null,["a",1,1],{}]\n',
        b'["duly-worker.entry.attempt_occurrence",null,["a",1,1],{}]',
        b"\x80\x04\x95",
        b"",
    ],
)
def test_any_other_job_is_left_to_rq(bench: Bench, data: bytes) -> None:
    client = bench.backend.client
    client.hset("rq:job:odd", "data", data)
    client.rpush("rq:queue:default", "odd")
    delivered(bench, "a")
    assert turn(bench).met is Met.FOREIGN
    assert bench.queue()[0] == "odd"


def test_a_question_that_comes_again_when_its_job_is_over_is_given_nothing(bench: Bench) -> None:
    delivered(bench, "a")
    asked = {"token": new_token(), "number": next(_numbers)}
    last = begun(bench, turn(bench, **asked))
    assert turn(bench, last=last).met is Met.EMPTY
    delivered(bench, "b")
    assert turn(bench, **asked).met is Met.EMPTY
    assert len(bench.queue()) == 1


def test_a_question_that_a_later_one_has_overtaken_is_given_nothing_and_its_success_is_recorded(bench: Bench) -> None:
    first, second, third = delivered(bench, "a", "b", "c")
    delayed = {"token": new_token(), "number": next(_numbers), "last": begun(bench, turn(bench))}
    assert turn(bench).occurrence == second
    assert turn(bench, **delayed).met is Met.EMPTY
    assert bench.record(first).state == "SUCCEEDED"
    assert bench.record(third).state == "PENDING"


def test_a_question_that_was_given_nothing_is_given_nothing_when_it_comes_again(bench: Bench) -> None:
    asked = {"token": new_token(), "number": next(_numbers)}
    assert turn(bench, **asked).met is Met.EMPTY
    delivered(bench, "a")
    assert turn(bench, **asked).met is Met.EMPTY
    assert len(bench.queue()) == 1


def test_a_question_whose_repetition_came_first_is_given_the_same(bench: Bench) -> None:
    first, second = delivered(bench, "a", "b")
    asked = {"token": new_token(), "number": next(_numbers)}
    assert [turn(bench, **asked).occurrence for _ in range(3)] == [first, first, first]
    assert bench.record(first).attempt == 1
    assert turn(bench).occurrence == second


def test_an_entry_whose_job_is_gone_is_dropped(bench: Bench) -> None:
    bench.backend.client.rpush("rq:queue:default", "gone", "gone")
    (occurrence,) = delivered(bench, "a")
    assert turn(bench).occurrence == occurrence


def test_rq_s_tools_see_the_job_start_and_finish(valkey: Backend) -> None:
    bench = Bench(valkey, valkey.store())
    raw = RqSide(valkey)
    delivered(bench, "a")
    met = turn(bench)
    assert met.hand is not None
    job = raw.job(met.hand.job_id)
    assert job.get_status() is JobStatus.STARTED
    assert job.worker_name == "w"
    started = StartedJobRegistry("default", connection=raw.client)
    assert started.get_job_and_execution_ids() == [(job.id, met.hand.execution)]

    turn(bench, last=begun(bench, met), queues=[])
    job = raw.job(met.hand.job_id)
    assert job.get_status() is JobStatus.FINISHED
    assert job.ended_at is not None
    assert started.get_job_ids() == []
    assert FinishedJobRegistry("default", connection=raw.client).get_job_ids() == [job.id]
    assert raw.client.ttl(job.key) > 0
    assert Queue("default", connection=raw.client).count == 0


def test_an_execution_that_rq_was_shown_leaves_nothing_behind(valkey: Backend) -> None:
    bench = Bench(valkey, valkey.store())
    raw = RqSide(valkey)
    delivered(bench, "a")
    met = turn(bench)
    assert met.hand is not None
    execution = Execution(met.hand.execution, met.hand.job_id, raw.client, "w")
    execution.save(70)
    raw.client.sadd("rq:worker:w:executions", execution.composite_key)
    after = turn(bench, last=Last(met.hand, shown=True))
    assert after.ending is None
    assert raw.client.exists(execution.key, "rq:worker:w:executions") == 0
    assert raw.job(met.hand.job_id).get_status() is JobStatus.FINISHED


class RqSide:
    """What RQ reads, which is bytes."""

    def __init__(self, backend: Backend) -> None:
        import redis

        assert backend.url is not None
        self.client = redis.Redis.from_url(backend.url)

    def job(self, job_id: str) -> Job:
        return Job.fetch(job_id, connection=self.client, serializer=JSONSerializer)
