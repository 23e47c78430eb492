"""A SIGKILL after each answer of the store, in a sweep and in an attempt, and what the next process makes of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis.connection

from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.store import Store
from duly.common.store.script_source import script_names, source
from duly.scheduler.sweep import Sweeper
from duly.worker import tasks
from duly.worker.attempt import Attempter
from tests.conftest import Backend
from tests.store.conftest import Bench

HOUR = 3_600_000
SWEEP_ANSWERS = 10
"""Answers that the prepared sweep gets from the store; checked below, so that no point is left out."""


def killed_after(answers: int, store: Store, work: Callable[[Store], Any]) -> bool:
    """Run ``work`` in a child that is killed right after that many answers; False when it ended before that.

    The child has its own connection, already open, so that every answer is one to a call of ours.
    """
    for name in script_names():
        store.client.script_load(source(name).shebang + source(name).text)
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)  # as a work-horse: what it kills of its group must not be ours
        try:
            own = Store.connect(store.settings)
            own.client.ping()
            _kill_after(answers)
            work(own)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    return False


def _kill_after(answers: int) -> None:
    left = answers
    read = redis.connection.Connection.read_response

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal left
        try:
            return read(self, *args, **kwargs)
        finally:
            if not kwargs.get("push_request"):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

    redis.connection.Connection.read_response = counted  # type: ignore[method-assign]


# --- the sweep ---------------------------------------------------------------------------------------------


def prepare(bench: Bench) -> None:
    """Five hours of backlog for two schedules, a held one, a retry that is due, a dead worker, a vanished job."""
    bench.add(schedule_id="once", spec="@every:3600000")
    bench.add(
        schedule_id="fill", spec="@every:3600000", missed_run_policy="backfill", backfill_limit=3, overlap="allow"
    )
    bench.add(schedule_id="held", spec="@every:100", missed_run_policy="backfill", backfill_limit=9)
    bench.add(schedule_id="retry", spec="@every:3600000", backoff={"base_ms": 0})
    bench.add(schedule_id="dead", spec="@every:3600000")
    bench.add(schedule_id="lost", spec="@every:3600000")
    bench.store.attempts.relinquish(bench.running(bench.due("held")), "timeout")
    for schedule_id in ("retry", "dead", "lost"):
        fall_behind(bench, schedule_id, 1)
    bench.sweep()
    bench.store.attempts.fail(bench.running(latest(bench, "retry")), "ValueError")
    bench.running(latest(bench, "dead"))
    bench.expire(latest(bench, "dead"))
    bench.backend.client.delete("rq:queue:default", *bench.backend.client.keys("rq:job:*"))
    bench.backend.client.zadd(bench.store.keys.watch, {str(latest(bench, "lost")): 0})
    for schedule_id in ("once", "fill"):
        fall_behind(bench, schedule_id, 5)
    bench.until((bench.store.schedules.get("held").next_run_ms or 0) + 1)


def fall_behind(bench: Bench, schedule_id: str, hours: int) -> None:
    """As if nobody had swept this schedule for some hours."""
    next_ms = bench.store.schedules.get(schedule_id).next_run_ms or 0
    bench.backend.client.hset(bench.store.keys.schedule(schedule_id), "next_run_ms", next_ms - hours * HOUR)
    bench.backend.client.zadd(bench.store.keys.due, {schedule_id: next_ms - hours * HOUR})


def latest(bench: Bench, schedule_id: str) -> Occurrence:
    return Occurrence(schedule_id, bench.events(schedule_id)[0][0])


def end_state(bench: Bench) -> dict[str, Any]:
    """Everything that must come out the same, with ticks counted in hours before the next one."""
    state: dict[str, Any] = {"queue": sorted(_short(bench, job) for job in bench.queue())}
    for schedule_id in ("once", "fill", "retry", "dead", "lost"):
        next_ms = bench.store.schedules.get(schedule_id).next_run_ms or 0
        events = bench.store.trails.events(schedule_id, 100)[0]
        state[schedule_id] = [((next_ms - e.tick_ms) // HOUR, e.outcome, e.reason, e.count) for e in events]
        state[f"{schedule_id} states"] = {
            (next_ms - tick) // HOUR: bench.record(Occurrence(schedule_id, tick)).state
            for tick in {e.tick_ms for e in events if e.outcome == "enqueued"}
        }
    return state


def _short(bench: Bench, job_id: str) -> str:
    _, schedule_id, tick, attempt = job_id.split("-")
    next_ms = bench.store.schedules.get(schedule_id).next_run_ms or 0
    return f"{schedule_id} {(next_ms - int(tick)) // HOUR} {attempt}"


def sweep(store: Store) -> None:
    store.sweeping.claim_duty("child", "child.s", 60_000)
    Sweeper(store).sweep_once("child")


EXPECTED = {
    "queue": ["fill 1 1", "fill 2 1", "fill 3 1", "lost 1 1", "once 1 1", "retry 1 2"],
    "once": [(1, "enqueued", "accepted", 1), (2, "skipped", "backlog_dropped", 4)],
    "once states": {1: "PENDING"},
    "fill": [
        (1, "enqueued", "accepted", 1),
        (2, "enqueued", "accepted", 1),
        (3, "enqueued", "accepted", 1),
        (4, "skipped", "backlog_dropped", 2),
    ],
    "fill states": {1: "PENDING", 2: "PENDING", 3: "PENDING"},
    "retry states": {1: "PENDING"},
    "dead states": {1: "HELD"},
    "lost states": {1: "PENDING"},
}


@pytest.mark.parametrize("answers", [*range(1, SWEEP_ANSWERS + 1), None])
def test_a_sweep_killed_after_any_answer_is_finished_by_the_next_holder(valkey: Backend, answers: int | None) -> None:
    bench = Bench(valkey, valkey.store())
    prepare(bench)
    valkey.client.delete(bench.store.keys.duty)
    if answers is None:
        assert not killed_after(10_000, bench.store, sweep)
    else:
        assert killed_after(answers, bench.store, sweep), "the sweep has fewer answers than listed"
    valkey.client.delete(bench.store.keys.duty)  # the dead holder's duty expires
    bench.sweep()
    found = end_state(bench)
    assert {name: found[name] for name in EXPECTED} == EXPECTED
    assert bench.events("held")[0][1:] == ("skipped", "quarantined")


def test_no_answer_of_the_prepared_sweep_is_left_out(valkey: Backend) -> None:
    bench = Bench(valkey, valkey.store())
    prepare(bench)
    valkey.client.delete(bench.store.keys.duty)
    assert not killed_after(SWEEP_ANSWERS + 1, bench.store, sweep)


# --- an attempt --------------------------------------------------------------------------------------------

AFTER_READING, AFTER_ACQUIRE, AFTER_BEGIN, AFTER_COMPLETE = 1, 2, 3, 4
# Answers, effect -> effects so far, state after recovery, effects after another worker had its turn.
POINTS = [
    (AFTER_READING, Effects.UNSAFE, 0, "PENDING", 1),
    (AFTER_ACQUIRE, Effects.UNSAFE, 0, "PENDING", 1),
    (AFTER_BEGIN, Effects.UNSAFE, 0, "HELD", 0),
    (AFTER_COMPLETE, Effects.UNSAFE, 1, "SUCCEEDED", 1),
    (AFTER_READING, Effects.IDEMPOTENT, 0, "PENDING", 1),
    (AFTER_ACQUIRE, Effects.IDEMPOTENT, 0, "PENDING", 1),
    (AFTER_BEGIN, Effects.IDEMPOTENT, 0, "PENDING", 1),
    (AFTER_COMPLETE, Effects.IDEMPOTENT, 1, "SUCCEEDED", 1),
]


@pytest.fixture
def effects_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    log = tmp_path / "effects"
    log.touch()
    monkeypatch.setattr(tasks, "_tasks", {})
    return log


def register(effects: Effects, work: Callable[[], None]) -> None:
    tasks._tasks["docs.refresh"] = tasks.Task("docs.refresh", work, effects)


def appending(log: Path, *, then_die: bool = False) -> Callable[[], None]:
    def work() -> None:
        with log.open("a") as file:
            file.write("effect\n")
        if then_die:
            os.kill(os.getpid(), signal.SIGKILL)

    return work


def attempt(occurrence: Occurrence, number: int) -> Callable[[Store], Any]:
    return lambda store: Attempter(store, "child@1").attempt(occurrence, number)


def recover(bench: Bench, occurrence: Occurrence) -> None:
    """The dead worker's lease expires, the sweep looks, and a second worker takes what there is to take."""
    if bench.record(occurrence).state in {"LEASED", "RUNNING"}:
        bench.expire(occurrence)
    bench.sweep()


@pytest.mark.parametrize(("answers", "effects", "so_far", "state", "in_the_end"), POINTS)
def test_an_attempt_killed_after_any_answer_is_repeated_only_where_that_is_safe(
    valkey: Backend, effects_log: Path, answers: int, effects: Effects, so_far: int, state: str, in_the_end: int
) -> None:
    bench = Bench(valkey, valkey.store())
    bench.add(spec="@every:3600000", backoff={"base_ms": 0})
    fall_behind(bench, "docs", 1)
    bench.sweep()
    occurrence = latest(bench, "docs")
    register(effects, appending(effects_log))
    assert killed_after(answers, bench.store, attempt(occurrence, 1))
    assert effects_log.read_text().count("effect") == so_far
    recover(bench, occurrence)
    record = bench.record(occurrence)
    assert record.state == state
    killed_after(10_000, bench.store, attempt(occurrence, record.attempt + 1))
    assert effects_log.read_text().count("effect") == in_the_end
    assert bench.record(occurrence).state == ("HELD" if state == "HELD" else "SUCCEEDED")


@pytest.mark.parametrize(
    ("effects", "state", "in_the_end"), [(Effects.UNSAFE, "HELD", 1), (Effects.IDEMPOTENT, "SUCCEEDED", 2)]
)
def test_an_attempt_killed_between_its_effect_and_its_record_is_unknown(
    valkey: Backend, effects_log: Path, effects: Effects, state: str, in_the_end: int
) -> None:
    bench = Bench(valkey, valkey.store())
    bench.add(spec="@every:3600000", backoff={"base_ms": 0})
    fall_behind(bench, "docs", 1)
    bench.sweep()
    occurrence = latest(bench, "docs")
    register(effects, appending(effects_log, then_die=True))
    assert killed_after(10_000, bench.store, attempt(occurrence, 1))
    recover(bench, occurrence)
    register(effects, appending(effects_log))
    killed_after(10_000, bench.store, attempt(occurrence, 2))
    assert bench.record(occurrence).state == state
    assert effects_log.read_text().count("effect") == in_the_end


def test_a_probe_decides_after_a_kill_between_effect_and_record(valkey: Backend, effects_log: Path) -> None:
    bench = Bench(valkey, valkey.store())
    bench.add(spec="@every:3600000", backoff={"base_ms": 0})
    fall_behind(bench, "docs", 1)
    bench.sweep()
    occurrence = latest(bench, "docs")

    def guarded(work: Callable[[], None]) -> None:
        tasks._tasks["docs.refresh"] = tasks.Task(
            "docs.refresh",
            work,
            Effects.GUARDED,
            lambda _key: "COMMITTED" if effects_log.read_text() else "NO_COMMITTED_RESULT",
        )

    guarded(appending(effects_log, then_die=True))
    assert killed_after(10_000, bench.store, attempt(occurrence, 1))
    recover(bench, occurrence)
    guarded(appending(effects_log))
    killed_after(10_000, bench.store, attempt(occurrence, 2))
    record = bench.record(occurrence)
    assert (record.state, record.result_ref) == ("SUCCEEDED", "probe: COMMITTED")
    assert effects_log.read_text().count("effect") == 1
