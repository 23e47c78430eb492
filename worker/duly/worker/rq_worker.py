"""RQ's worker, taught what our attempts need. Ordinary RQ jobs on the same queues run as RQ runs them."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import redis
from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now
from rq.worker import WorkerStatus

from duly.common.errors import StoreUnavailable
from duly.common.owners import new_instance, owner_name
from duly.common.process.parent import die_with_parent
from duly.common.process.restarts import Restarts
from duly.common.process.roles import GIVE_UP
from duly.common.settings import Settings
from duly.common.store import Store
from duly.common.store.connection import NO_ANSWER, connect
from duly.common.store.jobs import ATTEMPT_FUNCTION
from duly.common.store.turns import Hand
from duly.worker.allow_list import AllowList
from duly.worker.attempt import Attempter, report_death
from duly.worker.commands import Commands
from duly.worker.entry import install
from duly.worker.forked import how_it_ended
from duly.worker.group_guard import GroupGuard, kill_group
from duly.worker.horse import Limits
from duly.worker.presence import Presence
from duly.worker.rounds import Rounds
from duly.worker.rq_account import RqAccount
from duly.worker.rq_jobs import FleetJob, SparingDeathPenalty, occurrence_of
from duly.worker.stable import Stable

log = logging.getLogger(__name__)

WORKER_TTL_S = 30
MONITORING_INTERVAL_S = 10
# A blocking pop must end before its socket's time-out; RQ waits at most the worker's time to live less 15 s.
SOCKET_TIMEOUT_S = 30.0


class FleetWorker(Worker):
    """An RQ worker whose work-horses attempt occurrences, die with it, and are reported when they die."""

    death_penalty_class = SparingDeathPenalty
    max_connection_wait_time = 2.0

    def __init__(
        self, settings: Settings, name: str, queues: Sequence[str], allow_list: AllowList, limits: Limits | None = None
    ) -> None:
        super().__init__(
            list(queues),
            # RQ keeps a killed worker's name taken for a minute and a half, and a container that starts anew has
            # the process ids of the old one: the name RQ and the leases see is new with every start.
            name=new_instance(name),
            connection=connect(settings.redis_url, decode=False, socket_timeout_s=SOCKET_TIMEOUT_S),
            serializer=JSONSerializer,
            job_class=type("FleetJob", (FleetJob,), {"allow_list": allow_list}),
            worker_ttl=WORKER_TTL_S,
            job_monitoring_interval=MONITORING_INTERVAL_S,
            log_job_description=False,
        )
        self._fleet_name = name
        self._settings = settings
        self._store = Store.connect(settings)
        self._allow_list = allow_list
        self._guard = GroupGuard()
        self._horse_status: int | None = None
        self._in_rounds = False
        # What looks and signals say to Redis must not keep renewals waiting: RQ's own connection is a patient one.
        self._brisk = connect(settings.redis_url, decode=False)
        self._usual = self.connection
        self._stable = Stable(limits or Limits(), self._guard, self._become_horse)
        self._presence = Presence(
            self._store.fleet, name, queues=self.queue_names(), pid=self.pid or 0, host=self.hostname or ""
        )
        listening = connect(settings.redis_url, decode=False)
        self._commands = Commands(name, listening, self.pubsub_channel_name, self.handle_payload)
        self._account = RqAccount(self, self._store.attempts, self._presence, self._briskly)
        self._rounds = Rounds(self._store, self._stable, self._account, self.name, os.getpid(), self._names_in_order)

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run one job in a work-horse, if its function is on the allow-list."""
        refusal = self._allow_list.refusal(job)
        if refusal is not None:
            log.error("job %s %s", job.id, refusal, extra={"action": "job_refused"})
            self.handle_job_failure(job, queue=queue, exc_string=refusal)
            return
        if job.func_name == ATTEMPT_FUNCTION and self._make_rounds(job, queue):
            return
        self._beat("busy", job)
        super().execute_job(job, queue)

    def _make_rounds(self, job: Job, queue: Queue) -> bool:
        """Attempt this job of ours, and those of ours that follow it in the queues; False when RQ must run it."""
        self.set_state(WorkerStatus.BUSY)
        self._beat("busy", job)
        started = now()
        self._in_rounds = True
        try:
            taken = self._rounds.run(Hand(job.id, queue.name))
        except StoreUnavailable as error:
            log.warning("%s: %s", self._fleet_name, error, extra={"action": "store_unavailable"})
            return True
        finally:
            self._in_rounds = False
        with self.connection.pipeline(transaction=False) as pipeline:
            self._account.add_counts(pipeline)
            self.increment_total_working_time(now() - started, pipeline)
            self.set_state(WorkerStatus.IDLE, pipeline)
            pipeline.execute()
        self._wait_for_a_horse()
        return taken > 0

    def _wait_for_a_horse(self) -> None:
        """Take no job that nobody could run: wait until a work-horse can be had, or until a stop ends all waiting."""
        waits = Restarts()
        while not self._account.must_stop and (why := self._stable.lacks()):
            wait_ms = waits.ended(0, 0)  # as what ends as soon as it starts
            said = "%s takes no job: %s; trying again in %d ms"
            log.warning(said, self._fleet_name, why, wait_ms, extra={"action": "no_horse"})
            with contextlib.suppress(redis.exceptions.RedisError):
                self.heartbeat()
            time.sleep(wait_ms / 1000)

    @property
    def horse_pid(self) -> int:
        """The work-horse that runs now, whichever it is; 0 for none. RQ's commands end it by this."""
        return self._stable.pid if self._in_rounds else self._horse_pid

    def kill_horse(self, sig: signal.Signals = signal.SIGKILL) -> None:
        """End the work-horse, when there is one: to RQ, number 0 would be this very process's group."""
        if self.horse_pid:
            super().kill_horse(sig)

    @contextlib.contextmanager
    def _briskly(self) -> Iterator[None]:
        self.connection = self._brisk
        try:
            yield
        finally:
            self.connection = self._usual

    def _names_in_order(self) -> list[str]:
        return [queue.name for queue in self._ordered_queues]

    def _become_horse(self) -> None:
        """In a work-horse of the stable, right after the fork."""
        self._is_horse = True
        self.setup_work_horse_signals()

    def _install_signal_handlers(self) -> None:
        """SIGTERM and SIGINT: finish what runs, then stop. The supervisor's own signal: give it up."""
        super()._install_signal_handlers()  # type: ignore[no-untyped-call]
        signal.signal(GIVE_UP, self.request_force_stop)

    def request_stop(self, signum: int, frame: Any) -> None:
        """Finish what runs, then stop. RQ takes a second SIGTERM for an order to kill; here it changes nothing.

        RQ notes the request in Redis, from inside of whatever runs: a store that is away must not end that. Nor must it
        keep this process from ending: from here on nothing waits for it patiently.
        """
        self._usual = self._brisk
        try:
            with self._briskly(), contextlib.suppress(redis.exceptions.RedisError):
                super().request_stop(signum, frame)  # type: ignore[no-untyped-call]
        finally:
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, lambda *_: None)

    def request_force_stop(self, signum: int, frame: Any) -> None:
        """Give up what runs, when the supervisor says so, and at once: RQ would take it for an echo for a second."""
        if signum != GIVE_UP:
            return  # a second SIGTERM that came before `request_stop` had done
        self._shutdown_requested_date = datetime.fromtimestamp(0, UTC)
        super().request_force_stop(signum, frame)

    def setup_work_horse_signals(self) -> None:
        """A work-horse ends with its work, or by its worker's hand; SIGTERM to all processes is not for it.

        A handler that does nothing, since what a task starts would inherit an ignored signal.
        """
        super().setup_work_horse_signals()  # type: ignore[no-untyped-call]
        signal.signal(signal.SIGTERM, lambda *_: None)
        signal.signal(GIVE_UP, lambda *_: None)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork the work-horse; what it starts is bound to this worker's life too, and in an attempt to its own."""
        super().fork_work_horse(job, queue)
        self._guard.watch(self.horse_pid, to_its_end=occurrence_of(job) is not None)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """The work-horse: bound to its parent's life, with its own connection and its own name as an owner."""
        die_with_parent(self.pid or 0)
        self._guard.close()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        install(Attempter(Store.connect(self._settings), owner_name(self.name, os.getpid())))
        super().main_work_horse(job, queue)

    def monitor_work_horse(self, job: Job, queue: Queue, execution: Execution) -> None:
        """Wait for the work-horse; when it did not end by itself, report its death."""
        pid = self.horse_pid
        self._horse_status = None
        try:
            super().monitor_work_horse(job, queue, execution)
        finally:
            occurrence = occurrence_of(job)
            if self._horse_status != os.EX_OK and occurrence is not None:
                report_death(
                    self._store.attempts, occurrence, owner_name(self.name, pid), how_it_ended(self._horse_status)
                )

    def wait_for_horse(self) -> tuple[int | None, int | None, Any]:
        """RQ's wait, which remembers how the work-horse ended; what a killed one had started ends right after it."""
        pid, status, usage = super().wait_for_horse()
        self._horse_status = status
        if status != os.EX_OK:
            kill_group(self.horse_pid)
        self._guard.release()
        self._stable.watch_again()
        return pid, status, usage

    def maintain_heartbeats(self, job: Job, execution: Execution) -> None:
        """RQ's heartbeat; an outage of Redis must not end this process, and with it the work it watches."""
        try:
            super().maintain_heartbeats(job, execution)
        except redis.exceptions.RedisError as error:
            log.warning("no heartbeat: %s", type(error).__name__, extra={"action": "store_unavailable"})
        self._beat("busy", job)

    def dequeue_job_and_maintain_ttl(self, timeout: int | None, max_idle_time: int | None = None) -> Any:
        """RQ's wait for a job, during which this worker shows as idle."""
        self._beat("idle")
        return super().dequeue_job_and_maintain_ttl(timeout, max_idle_time)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """RQ's heartbeat while it waits, and ours."""
        super().heartbeat(timeout, pipeline)
        if self.get_state() == "idle":
            self._beat("idle")

    def subscribe(self) -> None:
        """Hear RQ's commands from now on; RQ's own thread for it ends at the first error that is no lost connection."""
        self._commands.start()

    def unsubscribe(self) -> None:
        """Hear them no longer."""
        self._commands.stop()

    def teardown(self) -> None:
        """RQ's farewell, and ours. A store that does not answer the first is told no other: it forgets us."""
        if self.is_horse:
            return
        self._stable.dismiss()
        self.unsubscribe()
        with self._briskly():
            try:
                super().teardown()  # type: ignore[no-untyped-call]
            except NO_ANSWER:
                raise
            except redis.exceptions.RedisError:
                self._presence.leave()
                raise
        self._presence.leave()

    def _beat(self, state: str, job: Job | None = None) -> None:
        if job is None:
            self._presence.say(state)
        else:
            self._presence.say(state, occurrence_of(job), job.id)
