"""A worker's rounds on its work-horse: what is reused, what is not, and what a crash of either leaves."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from duly.common.clock import SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.owners import fleet_name, new_instance, owner_name
from duly.common.records.occurrence import Effects
from duly.common.store import Store
from duly.common.store.turns import Hand, TurnStore
from duly.worker import group_guard, horse, tasks
from duly.worker import rounds as rounds_module
from duly.worker import stable as stable_module
from duly.worker.forked import end_of, how_it_ended
from duly.worker.group_guard import GroupGuard
from duly.worker.horse import Limits
from duly.worker.keeping import Keeping
from duly.worker.lease_keeper import LeaseKeeper
from duly.worker.rounds import Rounds
from duly.worker.run import current_run
from duly.worker.stable import NoHorse, Stable
from tests.conftest import Backend
from tests.store.conftest import Bench
from tests.store.test_crash_points import appending, killed_after, recover, register
from tests.store.test_turns import delivered


class Employer:
    """A worker without RQ."""

    must_stop = False

    def __init__(self) -> None:
        self.lost: list[tuple[Occurrence, str]] = []
        self.looks = 0
        self.report: Callable[[Occurrence, str], Any] = lambda *_: None

    def has_in_hand(self, hand: Hand) -> None: ...

    def looks_after(self, hand: Hand, occurrence: Occurrence, *, first: bool) -> None:
        assert first is (self.looks == 0)
        self.looks += 1

    def has_done(self, hand: Hand, *, failed: bool) -> None: ...

    def has_succeeded(self) -> None: ...

    def has_lost(self, hand: Hand, occurrence: Occurrence, owner: str, why: str, status: int | None) -> None:
        self.lost.append((occurrence, why))
        self.report(occurrence, owner)


class Yard:
    """A worker of this very process."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        self.employer = Employer()
        self.guard = GroupGuard()
        self.stable = Stable(limits or Limits(), self.guard, self._as_horse)
        self.rounds = Rounds(store, self.stable, self.employer, "w", os.getpid(), lambda: ["default"])
        self.employer.report = lambda occurrence, owner: store.attempts.report_death(
            occurrence.schedule_id, owner, "worker_died"
        )

    @staticmethod
    def _as_horse() -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: None)

    def close(self) -> None:
        self.stable.kill()
        self.guard.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)  # the guard


@pytest.fixture
def bench(valkey: Backend, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(tasks, "_tasks", {})
    monkeypatch.setattr(rounds_module, "LONGEST_ROUND_MS", 60_000.0)
    return Bench(valkey, valkey.store())


@pytest.fixture
def new_yard(bench: Bench) -> Iterator[Callable[..., Yard]]:
    with contextlib.ExitStack() as stack:

        def make(limits: Limits | None = None) -> Yard:
            return stack.enter_context(contextlib.closing(Yard(bench.store, limits)))

        yield make


@pytest.fixture
def log(tmp_path: Path) -> Path:
    found = tmp_path / "log"
    found.touch()
    return found


def noting(log: Path, then: Callable[[], Any] = lambda: None) -> Callable[[], None]:
    """A task that notes which process it runs in, and which occurrence, and then does something."""

    def work() -> None:
        with log.open("a") as file:
            file.write(f"{os.getpid()} {current_run().schedule_id}\n")
        then()

    return work


def end_at_the_look_back() -> None:
    """Have the work-horse end where it looks whether the attempt left it as it was."""

    def end() -> str:
        os._exit(1)

    os.getcwd = end


def pids(log: Path) -> list[int]:
    return [int(line.split()[0]) for line in log.read_text().splitlines()]


def test_attempts_follow_one_another_on_one_work_horse(bench: Bench, new_yard: Callable[..., Yard], log: Path) -> None:
    register(Effects.UNSAFE, noting(log))
    occurrences = delivered(bench, "a", "b", "c")
    yard = new_yard()
    assert yard.rounds.run() == 3
    assert [line.split()[1] for line in log.read_text().splitlines()] == ["a", "b", "c"]
    assert len(set(pids(log))) == 1
    assert os.getpid() not in pids(log)
    assert [bench.record(each).state for each in occurrences] == ["SUCCEEDED"] * 3
    owners = {bench.record(each).lease_owner for each in occurrences}
    assert len(owners) == 3, "no two attempts have an owner of the same name"
    assert yard.stable.pid == pids(log)[0]


def test_the_owner_of_an_attempt_leads_to_its_worker_by_the_name_it_has_in_the_fleet(
    bench: Bench, new_yard: Callable[..., Yard], log: Path
) -> None:
    register(Effects.UNSAFE, noting(log))
    occurrences = delivered(bench, "a", "b")
    yard = new_yard()
    yard.rounds.worker = new_instance("vm-7.2")
    yard.rounds.run()
    owners = {bench.record(each).lease_owner for each in occurrences}
    assert owners == {owner_name(yard.rounds.worker, os.getpid(), turn) for turn in (1, 2)}
    seen = {event.worker for event in bench.store.trails.runs()[0] if event.worker}
    assert {fleet_name(each) for each in seen | owners} == {"vm-7.2"}


@pytest.mark.parametrize(("jobs", "horses"), [(1, 4), (2, 2), (3, 2)])
def test_a_work_horse_makes_so_many_attempts_and_no_more(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, jobs: int, horses: int
) -> None:
    register(Effects.UNSAFE, noting(log))
    delivered(bench, "a", "b", "c", "d")
    new_yard(Limits(jobs=jobs)).rounds.run()
    assert len(set(pids(log))) == horses


def _leave_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def _leave_a_child() -> None:
    subprocess.Popen(["sleep", "3"])


LEFTOVERS: dict[str, Callable[[], Any]] = {
    "a thread": _leave_a_thread,
    "a child process": _leave_a_child,
    "another directory": lambda: os.chdir("/"),
    "another umask": lambda: os.umask(0),
    "a signal handler": lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    "a blocked signal": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
    "an environment variable": lambda: os.environ.update(LEFT="over"),
    "memory": lambda: _HOARD.append(bytearray(b"x" * 80_000_000)),
    "closed channels": lambda: os.closerange(3, 64),
}
_HOARD: list[bytearray] = []


@pytest.mark.parametrize("leftover", LEFTOVERS)
def test_whoever_leaves_something_behind_leaves_it_to_nobody(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, leftover: str
) -> None:
    register(Effects.IDEMPOTENT, noting(log, LEFTOVERS[leftover]))
    delivered(bench, "a", "b")
    new_yard(Limits(growth_mb=40)).rounds.run()
    assert len(set(pids(log))) == 2


def test_a_context_variable_is_gone_with_its_attempt(bench: Bench, new_yard: Callable[..., Yard], log: Path) -> None:
    from contextvars import ContextVar

    seen: ContextVar[str] = ContextVar("seen", default="nothing")

    def work() -> None:
        with log.open("a") as file:
            file.write(f"{os.getpid()} {seen.get()}\n")
        seen.set("something")

    register(Effects.UNSAFE, work)
    delivered(bench, "a", "b")
    new_yard().rounds.run()
    assert len(set(pids(log))) == 1
    assert "something" not in log.read_text()


def test_after_a_failure_another_work_horse_goes_on(bench: Bench, new_yard: Callable[..., Yard], log: Path) -> None:
    def fail() -> None:
        if current_run().schedule_id == "a":
            raise ValueError("sekret")

    register(Effects.UNSAFE, noting(log, fail))
    failed, done = delivered(bench, "a", "b")
    new_yard().rounds.run()
    assert len(set(pids(log))) == 2
    assert (bench.record(failed).state, bench.record(failed).last_error) == ("RETRY_WAIT", "ValueError")
    assert bench.record(done).state == "SUCCEEDED"


@pytest.mark.parametrize(
    "end",
    [
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: os._exit(0),
        lambda: os._exit(3),
        lambda: os.kill(os.getpid(), signal.SIGALRM),
    ],
)
def test_a_work_horse_that_ends_without_an_answer_is_reported_at_once(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, end: Callable[[], None]
) -> None:
    def work() -> None:
        if current_run().schedule_id == "a":
            end()

    register(Effects.UNSAFE, noting(log, work))
    died, done = delivered(bench, "a", "b")
    yard = new_yard()
    yard.rounds.run()
    assert [occurrence for occurrence, _ in yard.employer.lost] == [died]
    record = bench.record(died)
    assert (record.state, record.hold_reason, record.cause) == ("HELD", "HOLD_PRIOR_OUTCOME_UNKNOWN", "worker_died")
    assert bench.record(done).state == "SUCCEEDED"


def test_a_work_horse_that_ended_is_seen_though_what_it_forked_has_its_channels_open(
    bench: Bench, new_yard: Callable[..., Yard], log: Path
) -> None:
    def work() -> None:
        if current_run().schedule_id == "a":
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)

    register(Effects.UNSAFE, noting(log, work))
    died, done = delivered(bench, "a", "b")
    yard = new_yard()
    began = time.monotonic()
    yard.rounds.run()
    assert time.monotonic() - began < 30
    assert [occurrence for occurrence, _ in yard.employer.lost] == [died]
    assert bench.record(done).state == "SUCCEEDED"


def _raise() -> None:
    raise ValueError("sekret")


def _ask_for_the_lease() -> None:
    try:
        current_run().check_lease()
    except StoreUnavailable:
        os._exit(7)


COPIES: dict[str, tuple[Callable[[], Any], int]] = {
    "returns": (lambda: None, 0),
    "raises": (_raise, 1),
    "exits well": (sys.exit, 0),
    "exits with a code": (lambda: sys.exit(3), 3),
    "asks for the lease": (_ask_for_the_lease, 7),
}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_the_work_horse_that_a_task_forked_speaks_for_nobody(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, how: str
) -> None:
    ends, code = COPIES[how]

    def work() -> None:
        copy = os.fork()
        if copy == 0:
            ends()
            return
        _, status = os.waitpid(copy, 0)
        current_run().check_lease()
        current_run().set_result_ref(f"copy ended with {os.waitstatus_to_exitcode(status)}")

    register(Effects.UNSAFE, noting(log, work))
    yard = new_yard()
    (occurrence,) = delivered(bench, "a")
    yard.rounds.run()
    record = bench.record(occurrence)
    assert (record.state, record.attempt, record.result_ref) == ("SUCCEEDED", 1, f"copy ended with {code}")
    assert len(pids(log)) == 1
    assert yard.employer.lost == []


def test_a_copy_that_a_probe_forked_answers_nothing(bench: Bench, new_yard: Callable[..., Yard], log: Path) -> None:
    def probe(_key: str) -> str:
        copy = os.fork()
        if copy == 0:
            return "NO_COMMITTED_RESULT"
        os.waitpid(copy, 0)
        return "COMMITTED"

    work = noting(log, lambda: os._exit(0))
    tasks._tasks["docs.refresh"] = tasks.Task("docs.refresh", work, Effects.GUARDED, probe)
    yard = new_yard()
    (occurrence,) = delivered(bench, "a")
    yard.rounds.run()
    bench.until(bench.record(occurrence).not_before_ms or 0)
    bench.sweep()
    yard.rounds.run()
    assert (bench.record(occurrence).state, bench.record(occurrence).reason) == ("SUCCEEDED", "probe")
    assert len(pids(log)) == 1


def test_a_task_that_asks_for_its_lease_all_the_time_is_looked_after_all_the_same(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stable_module, "_FIRST_LOOK_MS", 30)
    monkeypatch.setattr(stable_module, "_LATER_LOOKS_MS", 30)
    yard = new_yard()

    def work() -> None:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            current_run().check_lease()

    register(Effects.UNSAFE, work)
    delivered(bench, "a")
    yard.rounds.run()
    assert yard.employer.looks >= 2


def no_fork() -> int:
    raise OSError(errno.EAGAIN, "no more processes")


def test_a_fork_that_fails_leaves_no_signal_blocked_and_no_descriptor_open(
    new_yard: Callable[..., Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    yard, before = new_yard(), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    descriptors = os.listdir("/proc/self/fd")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", no_fork)
        with pytest.raises(NoHorse, match="no more processes") as _held:
            yard.stable.ready()
        assert os.listdir("/proc/self/fd") == descriptors
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert yard.stable.ready() > 0


def no_channel() -> Any:
    raise OSError(errno.EMFILE, "too many open files")


def no_thread() -> Any:
    raise RuntimeError("can't start new thread")


SHORTAGES: dict[str, tuple[Any, str, Callable[[], Any]]] = {
    "of processes": (os, "fork", no_fork),
    "of descriptors": (socket, "socketpair", no_channel),
    "of threads": (horse, "Keeping", no_thread),
}


@pytest.mark.parametrize("shortage", SHORTAGES)
def test_where_no_work_horse_can_be_had_no_attempt_is_counted_and_no_other_job_taken(
    bench: Bench,
    new_yard: Callable[..., Yard],
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    shortage: str,
) -> None:
    register(Effects.UNSAFE, noting(log))
    given, waiting = delivered(bench, "a", "b", retry_budget=1)
    yard, job_id = new_yard(), bench.backend.client.lpop("rq:queue:default")
    with monkeypatch.context() as patched:
        patched.setattr(*SHORTAGES[shortage])
        assert yard.stable.lacks()
        for _ in range(5):
            assert yard.rounds.run() == 0
        assert bench.record(waiting).fencing_token is None
        assert yard.rounds.run(Hand(job_id, "default")) == 1
        assert yard.rounds.run() == 0
    assert (bench.record(given).state, bench.record(given).attempt) == ("PENDING", 0)
    assert (bench.record(waiting).state, bench.record(waiting).attempt) == ("PENDING", 0)
    assert bench.history("a")[-2:] == ["acquired", "released"]
    assert [each for each in caplog.messages if str(given) in each] == [
        each for each in caplog.messages if "handed back, and not counted: " in each
    ]
    assert yard.stable.lacks() == ""
    assert yard.rounds.run() == 1
    recover(bench, given)
    assert yard.rounds.run() == 1
    assert [bench.record(each).state for each in (given, waiting)] == ["SUCCEEDED"] * 2
    assert yard.employer.lost == []


def test_a_fork_that_fails_while_a_turn_is_under_way_costs_neither_the_last_success_nor_the_next_attempt(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work-horse turns out to be spent when the next job is claimed already."""
    register(Effects.UNSAFE, noting(log, lambda: os.chdir("/")))
    done, given, waiting = delivered(bench, "a", "b", "c", retry_budget=1)
    yard = new_yard()
    yard.stable.ready()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", no_fork)
        assert yard.rounds.run() == 2
    assert bench.record(done).state == "SUCCEEDED"
    assert [(bench.record(each).state, bench.record(each).attempt) for each in (given, waiting)] == [("PENDING", 0)] * 2
    assert bench.record(waiting).fencing_token is None
    recover(bench, given)
    assert yard.rounds.run() == 2
    assert [bench.record(each).state for each in (given, waiting)] == ["SUCCEEDED"] * 2


def test_a_probe_that_nobody_can_be_had_to_ask_leaves_its_question_open(
    bench: Bench, new_yard: Callable[..., Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    (occurrence,) = delivered(bench, "a", backoff={"base_ms": 0})
    tasks._tasks["docs.refresh"] = tasks.Task("docs.refresh", lambda: None, Effects.GUARDED, lambda _key: "COMMITTED")
    bench.store.attempts.relinquish(bench.running(occurrence, effects=Effects.GUARDED), "timeout")
    recover(bench, occurrence)
    yard, job_id = new_yard(), bench.queue()[-1]
    bench.backend.client.delete("rq:queue:default")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", no_fork)
        assert yard.rounds.run(Hand(job_id, "default")) == 1
    record = bench.record(occurrence)
    assert (record.state, record.prior_outcome, record.cause) == ("PENDING", "UNKNOWN", "no_work_horse")
    recover(bench, occurrence)
    yard.rounds.run()
    assert bench.record(occurrence).state == "SUCCEEDED"


def test_a_death_is_reported_of_the_attempt_that_died_and_of_no_earlier_one_on_that_work_horse(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first success could not be recorded while its lease lasted: it may still be, by its token."""
    register(Effects.UNSAFE, noting(log))
    (first,) = delivered(bench, "a", lease_ttl_ms=60_000)
    yard = new_yard()
    grant = bench.store.attempts.acquire(first, 1, "a" * 32, "w@1.1")
    assert grant.lease is not None
    bench.begin(grant.lease)
    assert bench.store.attempts.report_death("a", "w@1.2", "worker_died").value == "lost"
    yard.rounds.run()
    assert bench.record(first).state == "RUNNING"


def test_a_turn_whose_answer_is_lost_is_asked_again_and_nothing_runs_twice(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(Effects.UNSAFE, noting(log))
    occurrences = delivered(bench, "a", "b", "c", lease_ttl_ms=30_000)
    plain = TurnStore.turn
    lost: list[int] = []

    def turn(self: TurnStore, *args: Any, **fields: Any) -> Any:
        answer = plain(self, *args, **fields)
        if fields["last"] is not None and fields["number"] not in lost:
            lost.append(fields["number"])
            raise StoreUnavailable("the answer is lost")
        return answer

    monkeypatch.setattr(TurnStore, "turn", turn)
    assert new_yard().rounds.run() == 3
    assert len(lost) == 3
    assert len(pids(log)) == 3
    assert [bench.record(each).state for each in occurrences] == ["SUCCEEDED"] * 3
    assert [bench.record(each).attempt for each in occurrences] == [1, 1, 1]


def test_a_resting_work_horse_that_was_killed_is_replaced_before_anything_begins(
    bench: Bench, new_yard: Callable[..., Yard], log: Path
) -> None:
    register(Effects.UNSAFE, noting(log))
    yard = new_yard()
    delivered(bench, "a")
    yard.rounds.run()
    os.kill(yard.stable.pid, signal.SIGKILL)
    os.waitid(os.P_PID, yard.stable.pid, os.WEXITED | os.WNOWAIT)
    (second,) = delivered(bench, "b")
    yard.rounds.run()
    assert bench.record(second).state == "SUCCEEDED"
    assert yard.employer.lost == []
    assert len(set(pids(log))) == 2


def test_an_occurrence_whose_definition_cannot_be_read_spends_its_attempts_and_is_held(
    bench: Bench, new_yard: Callable[..., Yard], log: Path
) -> None:
    register(Effects.UNSAFE, noting(log))
    odd, done = delivered(bench, "a", "b", retry_budget=1)
    bench.backend.client.hset(bench.store.keys.schedule("a"), "definition", '{"task": "docs.refresh", "args": 1}')
    yard = new_yard()
    assert yard.rounds.run() == 2
    assert (bench.record(odd).state, bench.record(odd).cause) == ("PENDING", "definition_unreadable")
    assert bench.record(done).state == "SUCCEEDED"
    recover(bench, odd)
    yard.rounds.run()
    assert (bench.record(odd).state, bench.record(odd).hold_reason) == ("HELD", "HOLD_RETRY_BUDGET_EXHAUSTED")
    assert pids(log) == [yard.stable.pid]


def test_a_work_horse_that_says_something_else_behind_its_answer_is_not_used_again(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As when a task forked, and its copy answers too."""

    def say_something_else() -> None:
        horse._Horse.spent = lambda _: None  # type: ignore[method-assign, assignment]

    register(Effects.UNSAFE, noting(log, say_something_else))
    occurrences = delivered(bench, "a", "b")
    yard = new_yard()
    assert yard.rounds.run() == 2
    assert [bench.record(each).state for each in occurrences] == ["SUCCEEDED"] * 2
    assert len(set(pids(log))) == 2
    assert caplog.messages.count("a work-horse ended or got stuck between two attempts") == 2


def test_a_work_horse_that_ends_behind_its_answer_loses_nothing(
    bench: Bench, new_yard: Callable[..., Yard], log: Path
) -> None:
    """What it looks for when it has answered may end it, too."""
    register(Effects.UNSAFE, noting(log, end_at_the_look_back))
    occurrences = delivered(bench, "a", "b")
    yard = new_yard()
    assert yard.rounds.run() == 2
    assert yard.employer.lost == []
    assert [bench.record(each).state for each in occurrences] == ["SUCCEEDED"] * 2
    assert len(set(pids(log))) == 2


def test_a_dismissed_work_horse_ends(bench: Bench, new_yard: Callable[..., Yard]) -> None:
    yard = new_yard()
    pid = yard.stable.ready()
    yard.stable.dismiss()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (signal.SIGALRM, "its lease could not be renewed in time, and the lease's timer ended it"),
        (signal.SIGKILL, "killed by SIGKILL"),
        (37, "killed by signal 37"),
        (3 << 8, "exit code 3"),
        (None, "it ended, and nobody saw how"),
    ],
)
def test_it_is_said_how_a_work_horse_ended(status: int | None, words: str) -> None:
    assert how_it_ended(status) == words


# --- the thread that keeps leases ---------------------------------------------------------------------------


class Kept:
    """A lease that somebody must look at so many milliseconds after the attempt began."""

    def __init__(self, due_ms: float, looked: Callable[[], None]) -> None:
        self._due_ms = SystemClock().monotonic_ms() + due_ms
        self._looked = looked

    def next_look_ms(self) -> float:
        return self._due_ms

    def look(self) -> float:
        self._looked()
        return self.next_look_ms() + 60_000


def test_attempts_that_end_before_their_lease_is_due_do_not_wake_the_thread_that_keeps_it() -> None:
    looks, waits = [], threading.Event()
    keeping = Keeping()
    for _ in range(200):
        keeping.attend(cast(LeaseKeeper, Kept(60_000, lambda: looks.append(1))))
        keeping.attend(None)
        waits.wait(0.0001)  # whoever was woken has its turn
    assert len(looks) <= 2


def test_a_lease_that_is_due_before_the_one_that_was_planned_for_is_looked_at_in_time() -> None:
    keeping, looked = Keeping(), threading.Event()
    keeping.attend(cast(LeaseKeeper, Kept(60_000, lambda: None)))
    keeping.attend(None)
    keeping.attend(cast(LeaseKeeper, Kept(20, looked.set)))
    assert looked.wait(10)
    looked.clear()
    keeping.attend(None)
    keeping.attend(cast(LeaseKeeper, Kept(20, looked.set)))
    assert looked.wait(10)


# --- SIGKILL after each answer of the store ----------------------------------------------------------------

TAKEN, BEGUN, RECORDED = 1, 2, 3
POINTS = [
    (TAKEN, Effects.UNSAFE, 0, "PENDING", 1),
    (BEGUN, Effects.UNSAFE, 0, "HELD", 0),
    (RECORDED, Effects.UNSAFE, 1, "SUCCEEDED", 1),
    (TAKEN, Effects.IDEMPOTENT, 0, "PENDING", 1),
    (BEGUN, Effects.IDEMPOTENT, 0, "PENDING", 1),
    (RECORDED, Effects.IDEMPOTENT, 1, "SUCCEEDED", 1),
]


def rounds(store: Store) -> None:
    Yard(store).rounds.run()


@pytest.mark.parametrize(("answers", "effects", "so_far", "state", "in_the_end"), POINTS)
def test_a_worker_killed_after_any_answer_leaves_what_its_work_horse_may_have_done(
    bench: Bench, log: Path, answers: int, effects: Effects, so_far: int, state: str, in_the_end: int
) -> None:
    (occurrence,) = delivered(bench, "a", backoff={"base_ms": 0})
    register(effects, appending(log))
    assert killed_after(answers, bench.store, rounds)
    assert log.read_text().count("effect") == so_far
    recover(bench, occurrence)
    assert bench.record(occurrence).state == state
    killed_after(10_000, bench.store, rounds)
    assert log.read_text().count("effect") == in_the_end
    assert bench.record(occurrence).state == ("HELD" if state == "HELD" else "SUCCEEDED")


def test_no_answer_of_an_attempt_is_left_out(bench: Bench, log: Path) -> None:
    delivered(bench, "a")
    register(Effects.UNSAFE, appending(log))
    assert not killed_after(RECORDED + 1, bench.store, rounds)


@pytest.mark.parametrize(
    ("effects", "state", "in_the_end"), [(Effects.UNSAFE, "HELD", 1), (Effects.IDEMPOTENT, "SUCCEEDED", 2)]
)
def test_a_worker_killed_between_effect_and_record_takes_its_work_horse_along_and_nothing_is_known(
    bench: Bench, log: Path, effects: Effects, state: str, in_the_end: int
) -> None:
    def work() -> None:
        appending(log)()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)
        appending(log)()  # the orphan must not come this far

    (occurrence,) = delivered(bench, "a", backoff={"base_ms": 0})
    register(effects, work)
    assert killed_after(10_000, bench.store, rounds)
    recover(bench, occurrence)
    register(effects, appending(log))
    killed_after(10_000, bench.store, rounds)
    assert bench.record(occurrence).state == state
    assert log.read_text().count("effect") == in_the_end


def test_what_a_success_leaves_running_goes_on_and_what_a_failure_leaves_does_not(
    bench: Bench, new_yard: Callable[..., Yard], tmp_path: Path
) -> None:
    def work() -> None:
        name = current_run().schedule_id
        started = subprocess.Popen(["sleep", "30"])
        (tmp_path / name).write_text(str(started.pid))
        if name == "fails":
            raise ValueError

    register(Effects.UNSAFE, work)
    delivered(bench, "fails", "good")
    yard = new_yard()
    assert yard.rounds.run() == 2
    yard.stable.dismiss()
    left, ended = int((tmp_path / "good").read_text()), int((tmp_path / "fails").read_text())
    try:
        live = set(group_guard._live_processes())
        assert left in live
        assert ended not in live
    finally:
        os.kill(left, signal.SIGKILL)


# --- the guard of what a task started ----------------------------------------------------------------------


@pytest.mark.parametrize("to_its_end", [True, False])
@pytest.mark.parametrize(("released", "survives"), [(False, False), (True, True)])
def test_the_group_ends_with_the_worker_unless_its_work_has_ended(
    released: bool, survives: bool, to_its_end: bool
) -> None:
    started = subprocess.Popen(["sleep", "30"], process_group=0)
    try:
        worker = os.fork()
        if worker == 0:
            guard = GroupGuard()
            guard.watch(started.pid, to_its_end=to_its_end)
            if released:
                guard.release()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(worker, 0)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(1.0 if survives else 20.0)
        assert (started.poll() is None) is survives
    finally:
        started.kill()
        started.wait()


@pytest.fixture
def leader() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that leads a group, and another one of that group."""
    started = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], process_group=0, stdout=subprocess.PIPE)
    assert started.stdout is not None
    member = int(started.stdout.readline())
    yield started, member
    group_guard.kill_group(started.pid)
    started.wait()
    started.stdout.close()


def ends_within(pid: int, wait_s: float) -> bool:
    poll = select.poll()
    poll.register(watched := end_of(pid), select.POLLIN)
    ended = bool(poll.poll(wait_s * 1000))
    os.close(watched)
    return ended


@pytest.mark.parametrize(
    ("to_its_end", "released", "ends"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_group_ends_with_the_process_that_leads_it_while_its_work_is_under_way(
    leader: tuple[subprocess.Popen[bytes], int], to_its_end: bool, released: bool, ends: bool
) -> None:
    guard = GroupGuard()
    guard.watch(leader[0].pid, to_its_end=to_its_end)
    if released:
        guard.release()
    leader[0].kill()  # nobody waits for it, as a worker does not that is stopped
    assert ends_within(leader[1], 20.0 if ends else 1.0) is ends
    guard.close()
    os.waitpid(guard.pid, 0)


def test_a_guard_that_was_killed_is_replaced_by_one_that_guards_the_same(
    leader: tuple[subprocess.Popen[bytes], int], caplog: pytest.LogCaptureFixture
) -> None:
    guard = GroupGuard()
    guard.watch(leader[0].pid, to_its_end=True)
    killed = guard.pid
    os.kill(killed, signal.SIGKILL)
    assert ends_within(killed, 20.0)
    guard.watch(leader[0].pid, to_its_end=True)
    guard.keep()
    assert guard.pid != killed
    assert "the guard of the work-horse ended" in caplog.text
    guard.keep()
    assert caplog.text.count("the guard of the work-horse ended") == 1
    leader[0].kill()
    assert ends_within(leader[1], 20.0)
    guard.close()
    os.waitpid(guard.pid, 0)


def test_a_work_horse_that_was_stopped_is_killed_when_its_lease_is_over(
    bench: Bench, new_yard: Callable[..., Yard], log: Path, tmp_path: Path
) -> None:
    def stop() -> None:
        if current_run().schedule_id == "a":
            (tmp_path / "child").write_text(str(subprocess.Popen(["sleep", "60"]).pid))
            os.kill(os.getpid(), signal.SIGSTOP)

    register(Effects.UNSAFE, noting(log, stop))
    bench.add(schedule_id="a", lease_ttl_ms=1_000, missed_run_policy="backfill", backfill_limit=1)
    stopped = bench.due("a")
    (done,) = delivered(bench, "b")
    yard = new_yard()
    began = time.monotonic()
    yard.rounds.run()
    assert time.monotonic() - began < 30
    assert [occurrence for occurrence, _ in yard.employer.lost] == [stopped]
    assert bench.record(stopped).state == "HELD"
    assert bench.record(done).state == "SUCCEEDED"
    assert int((tmp_path / "child").read_text()) not in set(group_guard._live_processes())
