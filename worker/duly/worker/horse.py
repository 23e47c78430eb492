"""The work-horse: a forked child that runs one attempt after another for its worker, and has no connection to Redis.

It gets an attempt over one channel and answers with its outcome. Over the other it asks for its lease: each renewal is
asked for here, right before it is due, and made by the worker. So the lease ends with whoever stops: a work-horse that
is stopped or stuck asks for nothing, a worker that is stopped or cut off from Redis answers nothing, and either way the
kernel's timer in here, which only a proven renewal sets anew, ends the work-horse before the lease can pass on.

What one attempt leaves behind, the next must not find. A work-horse that has anything left over (threads, child
processes, another directory, signal handlers of its own, ...) or that has failed is *spent*: it says so behind its
answer, and ends. What can't be seen is shared: the task modules' global variables.
"""

from __future__ import annotations

import contextvars
import os
from dataclasses import dataclass
from typing import Any, NoReturn

from duly.common.store.attempts import Lease
from duly.worker.channel import Channel, ChannelBroken
from duly.worker.copies import flush
from duly.worker.keeping import HorseKeeper, Keeping, LeaseOfWorker
from duly.worker.lease_keeper import LeaseKeeper, end_process_group
from duly.worker.leftovers import Leftovers
from duly.worker.messages import lease_in
from duly.worker.performing import Kind, Outcome, perform
from duly.worker.probe import UNKNOWN, ask_probe
from duly.worker.run import run_of
from duly.worker.tasks import Task, find_task


@dataclass(frozen=True, slots=True)
class Limits:
    """When a work-horse is replaced though nothing is wrong with it."""

    jobs: int = 1_000
    """After so many attempts; 1 forks for each."""
    growth_mb: int = 256
    """When it has grown by so much since it was forked."""


def serve(work: Channel, lease: Channel, limits: Limits) -> NoReturn:
    """Run attempts until the worker is gone, or until this work-horse is spent."""
    try:
        horse = _Horse(lease, limits)
        # Where no thread can be had, or no memory, it does not come so far, and nothing begins on it.
        work.send({"spent": ""})
        while True:
            asked = work.receive()
            answer = contextvars.copy_context().run(horse.do, asked)
            flush()
            work.send(answer)
            # What the attempt left over is looked for while its worker records the outcome.
            spent = "failure" if answer["failed"] else horse.spent()
            work.send({"spent": spent})
            if spent:
                work.receive()  # its worker lets it go by closing the channel, once nobody guards its group any more
    except ChannelBroken:
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the worker sees the death, and nothing above could report it
        os._exit(1)


class _Horse:
    def __init__(self, lease: Channel, limits: Limits) -> None:
        self._attempts = LeaseOfWorker(lease)
        self._limits = limits
        self._jobs = 0
        self._keeping = Keeping()
        self._leftovers = Leftovers(limits.growth_mb)

    def do(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run the attempt, or ask the probe, as told; the answer to send."""
        self._jobs += 1
        task = find_task(asked["task"])
        assert task is not None
        lease = lease_in(asked)
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
        return "jobs" if self._jobs >= self._limits.jobs else self._leftovers.found()

    def _run(self, task: Task, asked: dict[str, Any], lease: Lease, keeper: LeaseKeeper) -> Outcome:
        timeout_ms = asked["timeout_ms"]
        run = run_of(lease, asked["key"], timeout_ms, self._attempts)
        return perform(task.function, asked["args"], asked["kwargs"], run, timeout_ms, keeper)
