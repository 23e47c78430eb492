"""The work-horse: a forked child that runs one attempt after another for its worker, and has no connection to Redis.

It gets an attempt over one channel and answers with its outcome. Over the other it asks for its lease: each renewal is
asked for here, right before it is due, and made by the worker. So the lease ends with whoever stops: a work-horse that
is stopped or stuck asks for nothing, a worker that is stopped or cut off from Redis answers nothing, and either way the
kernel's timer in here, which only a proven renewal sets anew, ends the work-horse before the lease can pass on.

What one attempt leaves behind, the next must not find. A work-horse that has anything left over (threads, child
processes, another directory, signal handlers of its own, ...) or that has failed is *spent*: it says so with its answer
and ends. What can't be seen is shared: the task modules' global variables.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import os
import signal
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from duly.common.clock import SystemClock
from duly.common.errors import StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.process.roles import GIVE_UP
from duly.common.store.attempts import Lease
from duly.worker.channel import Channel, ChannelBroken
from duly.worker.lease_keeper import LeaseKeeper, Renewals, end_process_group
from duly.worker.performing import Kind, Outcome, perform
from duly.worker.probe import UNKNOWN, Probed, ask_probe
from duly.worker.run import run_of
from duly.worker.tasks import Task, find_task

_OWN_SIGNALS = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, GIVE_UP)
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Limits:
    """When a work-horse is replaced though nothing is wrong with it."""

    jobs: int = 1_000
    """After so many attempts; 1 forks for each."""
    growth_mb: int = 256
    """When it has grown by so much since it was forked."""


class LeaseOfWorker:
    """The lease, as a work-horse has it: its worker is asked, and any doubt is no. For any thread."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._asked = 0

    def renew(self, _lease: Lease, /) -> bool:
        """As `AttemptStore.renew`."""
        with self._lock:
            self._asked += 1
            number = self._asked
            try:
                self._channel.send({"n": number})
                # An answer that nobody waited for, because the time-out was raised just then, comes first.
                while (answer := self._channel.receive()).get("n") != number:
                    pass
            except ChannelBroken as error:
                raise StoreUnavailable("the worker does not answer") from error
        word = answer.get("lease")
        if word not in {"renewed", "lost"}:
            raise StoreUnavailable("the worker could not ask the store")
        return bool(word == "renewed")


class Keeping:
    """The one thread of a work-horse that keeps the lease of whatever it runs, from attempt to attempt.

    It is woken only when it would look too late otherwise: most attempts end before their lease is to be renewed. What
    it was woken for stays its plan when the attempt has ended meanwhile, so that the next one finds it planned.
    """

    def __init__(self) -> None:
        self._looking = threading.Lock()
        self._changed = threading.Event()
        self._keeper: LeaseKeeper | None = None
        self._until_ms = math.inf
        threading.Thread(target=self._keep, name="lease-keeper", daemon=True).start()

    def attend(self, keeper: LeaseKeeper | None) -> None:
        """Look after this lease from now on, or after none; a look under way at another one ends first."""
        with self._looking:
            self._keeper = keeper
        if keeper is not None:
            self.look_by(keeper.next_look_ms())

    def look_by(self, instant_ms: float) -> None:
        """Have a look no later than this."""
        if instant_ms < self._until_ms:
            self._until_ms = instant_ms
            self._changed.set()

    def _keep(self) -> None:
        clock = SystemClock()
        while True:
            self._changed.clear()
            # While it looks, whoever comes with something new wakes it again.
            planned_ms, self._until_ms = self._until_ms, math.inf
            with self._looking:
                next_ms = planned_ms if self._keeper is None else self._keeper.look()
            now_ms = clock.monotonic_ms()
            if next_ms <= now_ms and self._keeper is None:
                next_ms = math.inf
            self._until_ms = min(next_ms, self._until_ms)
            self._changed.wait(None if next_ms == math.inf else max(next_ms - now_ms, 1.0) / 1000)


class HorseKeeper(LeaseKeeper):
    """Keeps one lease by the work-horse's one thread."""

    def __init__(self, attempts: Renewals, lease: Lease, asked_ms: float, keeping: Keeping) -> None:
        super().__init__(attempts, lease, asked_ms)
        self._keeping = keeping

    def _watch(self) -> None:
        self._keeping.attend(self)

    def _unwatch(self) -> None:
        self._keeping.attend(None)

    def _wake(self) -> None:
        self._keeping.look_by(self.next_look_ms())


def serve(work: Channel, lease: Channel, limits: Limits) -> NoReturn:
    """Run attempts until the worker is gone, or until this work-horse is spent."""
    try:
        horse = _Horse(lease, limits)
        while True:
            asked = work.receive()
            answer = contextvars.copy_context().run(horse.do, asked)
            _flush()
            work.send(answer)
            # What the attempt left over is looked for while its worker records the outcome.
            spent = "failure" if answer["failed"] else horse.spent()
            work.send({"spent": spent})
            if spent:
                break
    except ChannelBroken:
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the worker sees the death, and nothing above could report it
        os._exit(1)
    os._exit(0)


class _Horse:
    def __init__(self, lease: Channel, limits: Limits) -> None:
        self._attempts = LeaseOfWorker(lease)
        self._limits = limits
        self._jobs = 0
        self._keeping = Keeping()
        self._before = _Surroundings.now()
        self._environment = dict(_environment())
        self._memory = _Memory()

    def do(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run the attempt, or ask the probe, as told; the answer to send."""
        self._jobs += 1
        task = find_task(asked["task"])
        assert task is not None
        lease = _lease(asked)
        with HorseKeeper(self._attempts, lease, asked["asked_ms"], self._keeping) as keeper:
            if not keeper.alive:
                end_process_group()  # stopped on the way here, for longer than the lease
            if asked["do"] == "probe":
                probed = ask_probe(task, asked["key"], keeper)
                answer = {"answer": probed.answer, "cause": probed.cause}
                failed = probed.answer == UNKNOWN
            else:
                outcome = self._run(task, asked, lease, keeper)
                answer = {"kind": outcome.kind.value, "said": outcome.said}
                failed = outcome.kind is not Kind.SUCCEEDED
        return {**answer, "failed": failed}

    def spent(self) -> str:
        """Why the next attempt must not run here; empty when it may."""
        if self._jobs >= self._limits.jobs:
            return "jobs"
        if _has_children():
            return "child processes"
        changed = self._before.changed(_Surroundings.now())
        if changed:
            return changed
        if _environment() != self._environment:
            return "environment"
        return "memory" if self._memory.grown_mb() > self._limits.growth_mb else ""

    def _run(self, task: Task, asked: dict[str, Any], lease: Lease, keeper: LeaseKeeper) -> Outcome:
        timeout_ms = asked["timeout_ms"]
        run = run_of(lease, asked["key"], timeout_ms, self._attempts)
        return perform(task.function, asked["args"], asked["kwargs"], run, timeout_ms, keeper)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What a task can change for the next one, as far as it can be seen."""

    directory: str
    umask: int
    handlers: tuple[Any, ...]
    blocked: frozenset[int]
    threads: int

    @classmethod
    def now(cls) -> _Surroundings:
        directory = ""
        with contextlib.suppress(OSError):
            directory = os.getcwd()
        umask = os.umask(0o077)
        os.umask(umask)
        return cls(
            directory,
            umask,
            tuple(map(signal.getsignal, _OWN_SIGNALS)),
            frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            threading.active_count(),
        )

    def changed(self, now: _Surroundings) -> str:
        """The first thing that is not as it was."""
        if now == self:
            return ""
        names = ("directory", "umask", "handlers", "blocked", "threads")
        return next((name for name in names if getattr(self, name) != getattr(now, name)), "")


def _has_children() -> bool:
    """Whether there is any child, also one that has ended and that nobody has waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _environment() -> Mapping[Any, Any]:
    """The environment; its own bytes where there are such, since decoding every name for every attempt is not cheap."""
    found: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
    return found


class _Memory:
    """What the process has grown by since this was made."""

    def __init__(self) -> None:
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open("/proc/self/statm", os.O_RDONLY)
        self._first_mb = self._now_mb()

    def grown_mb(self) -> float:
        """0 where the system does not say."""
        return self._now_mb() - self._first_mb

    def _now_mb(self) -> float:
        try:
            return int(os.pread(self._file, 128, 0).split()[1]) * _PAGE / 1e6
        except (OSError, IndexError, ValueError):
            return 0.0


def _lease(asked: dict[str, Any]) -> Lease:
    occurrence = Occurrence(asked["schedule_id"], asked["tick_ms"])
    return Lease(occurrence, "", "", asked["fencing_token"], asked["attempt"], asked["now_ms"], asked["ttl_ms"], 0)


def _flush() -> None:
    """What the task printed must not wait until this process ends, which does not flush."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def request(task: Task, lease: Lease, key: str, asked_ms: float, **more: Any) -> dict[str, Any]:
    """What a worker sends: ``asked_ms`` is the clock of this machine right before the lease was last proven."""
    return {
        "task": task.name,
        "key": key,
        "schedule_id": lease.occurrence.schedule_id,
        "tick_ms": lease.occurrence.tick_ms,
        "fencing_token": lease.fencing_token,
        "attempt": lease.attempt,
        "now_ms": lease.now_ms,
        "ttl_ms": lease.ttl_ms,
        "asked_ms": asked_ms,
        **more,
    }


def outcome_in(answer: dict[str, Any]) -> Outcome:
    """The outcome that an answer tells; raises ChannelBroken for any other."""
    try:
        kind = Kind(answer["kind"])
    except (KeyError, ValueError, TypeError) as error:
        raise ChannelBroken("an answer tells no outcome") from error
    return Outcome(kind, _short(answer.get("said")))


def probed_in(answer: dict[str, Any]) -> Probed:
    """What the probe answered; raises ChannelBroken."""
    return Probed(_short(answer.get("answer")), _short(answer.get("cause")))


def _short(text: Any) -> str:
    if not isinstance(text, str) or len(text) > 2_048:
        raise ChannelBroken("an answer is none that a work-horse gives")
    return text
