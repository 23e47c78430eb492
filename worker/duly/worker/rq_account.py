"""What RQ is told of the jobs of a round, besides what each turn tells it: see `Employer`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

import redis
from redis.client import Pipeline
from rq import Worker
from rq.exceptions import NoSuchJobError
from rq.executions import Execution
from rq.job import Job
from rq.utils import now

from duly.common.identity import Occurrence
from duly.common.store.attempts import AttemptStore
from duly.common.store.turns import Hand
from duly.worker.attempt import report_death
from duly.worker.forked import how_it_ended
from duly.worker.presence import Presence

log = logging.getLogger(__name__)


class RqAccount:
    """The employer of one worker's rounds. An outage of Redis ends nothing here: the work that runs is worth more."""

    def __init__(
        self,
        worker: Worker,
        attempts: AttemptStore,
        presence: Presence,
        briskly: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Inside ``briskly()`` the worker's connection is one that gives up soon."""
        self._worker = worker
        self._attempts = attempts
        self._presence = presence
        self._briskly = briskly
        self._succeeded = self._failed = 0

    @property
    def must_stop(self) -> bool:
        """Whether no further job is to be taken."""
        return bool(self._worker._stop_requested)

    def has_in_hand(self, hand: Hand) -> None:
        """A job of ours was taken. RQ's commands to stop it find it by its execution, and end the work-horse."""
        worker = self._worker
        execution = Execution(hand.execution, hand.job_id, worker.connection, worker.name)
        worker.executions[execution.id] = execution

    def looks_after(self, hand: Hand, occurrence: Occurrence, *, first: bool) -> None:
        """It has been running for a while: from now on RQ's tools see what this worker does."""
        self._presence.say("busy", occurrence, hand.job_id)
        execution = self._worker.executions[hand.execution]
        try:
            with self._briskly():
                self._give_sign_of_life(hand, execution, first=first)
        except redis.exceptions.RedisError as error:
            log.warning("no heartbeat: %s", type(error).__name__, extra={"action": "store_unavailable"})

    def has_done(self, hand: Hand, *, failed: bool) -> None:
        """It has ended; the next turn says so to RQ."""
        self._worker.executions.pop(hand.execution, None)
        self._failed += failed

    def has_succeeded(self) -> None:
        """The success of a job that was done was recorded."""
        self._succeeded += 1

    def has_lost(self, hand: Hand, occurrence: Occurrence, owner: str, why: str, status: int | None) -> None:
        """Its work-horse ended under it, or was ended."""
        execution = self._worker.executions.pop(hand.execution, None)
        how = why or how_it_ended(status)
        report_death(self._attempts, occurrence, owner, how)
        try:
            self._fail_in_rq(hand, execution, f"the work-horse ended: {how}")
        except redis.exceptions.RedisError as error:
            log.warning("RQ not told: %s", type(error).__name__, extra={"action": "store_unavailable"})

    def add_counts(self, pipeline: Pipeline) -> None:
        """Have RQ count what came of the jobs. Those whose work-horse died it has counted when it was told of them."""
        pipeline.hincrby(self._worker.key, "successful_job_count", self._succeeded)
        pipeline.hincrby(self._worker.key, "failed_job_count", self._failed)
        self._succeeded = self._failed = 0

    def _give_sign_of_life(self, hand: Hand, execution: Execution, *, first: bool) -> None:
        worker = self._worker
        try:
            job = self._job(hand)
        except NoSuchJobError:
            worker.heartbeat()
            return
        if first:
            self._show(execution, worker.get_heartbeat_ttl(job))
        # RQ's own: what the worker adds to it is for jobs that RQ runs.
        Worker.maintain_heartbeats(worker, job, execution)

    def _show(self, execution: Execution, ttl_s: int) -> None:
        worker = self._worker
        with worker.connection.pipeline(transaction=False) as pipeline:
            execution.save(ttl_s, pipeline)
            pipeline.sadd(worker.executions_key, execution.composite_key)
            pipeline.expire(worker.executions_key, ttl_s + 60)
            pipeline.execute()

    def _fail_in_rq(self, hand: Hand, execution: Execution | None, why: str) -> None:
        worker = self._worker
        try:
            job = self._job(hand)
        except NoSuchJobError:
            return
        queue = worker.queue_class(hand.queue, connection=worker.connection, job_class=worker.job_class)
        job.ended_at = now()
        worker.handle_job_failure(job, queue=queue, exc_string=why, execution=execution)

    def _job(self, hand: Hand) -> Job:
        worker = self._worker
        return worker.job_class.fetch(hand.job_id, connection=worker.connection, serializer=worker.serializer)
