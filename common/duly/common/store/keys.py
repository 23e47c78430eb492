"""Every key the store writes, named in one place, with what bounds it.

`LIFETIMES` has a line for every kind of key, with the reason why it stays bounded; a test fails on any key without one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from rq import Queue
from rq.defaults import RQ_KEY_PREFIX
from rq.job import Job
from rq.worker_registration import WORKERS_BY_QUEUE_KEY

from duly.common.identity import Occurrence

# RQ's own names, taken from RQ so that RQ_KEY_PREFIX is honoured.
RQ_JOB_STEM = Job.redis_job_namespace_prefix
RQ_QUEUE_STEM = Queue.redis_queue_namespace_prefix
RQ_QUEUES = Queue.redis_queues_keys
RQ_WORKER_STEM = f"{RQ_KEY_PREFIX}:worker:"
RQ_WORKERS_OF_QUEUE = WORKERS_BY_QUEUE_KEY


class Lifetime(StrEnum):
    """What bounds a kind of key."""

    PERMANENT = "permanent"
    """One for the fleet, or one for each schedule that exists."""
    CAPPED = "capped"
    """A stream trimmed at every write."""
    TTL = "ttl"
    """Always written with a time to live."""
    OPEN = "open"
    """Exists while an occurrence it speaks of is not terminal, and then expires or is deleted."""


LIFETIMES: dict[str, Lifetime] = {
    "schedules": Lifetime.PERMANENT,
    "schedule:*": Lifetime.PERMANENT,
    "due": Lifetime.PERMANENT,
    "watch": Lifetime.PERMANENT,
    "holds": Lifetime.PERMANENT,
    "approvals": Lifetime.PERMANENT,
    "failing": Lifetime.PERMANENT,
    "fence": Lifetime.PERMANENT,
    "totals": Lifetime.PERMANENT,
    "workers": Lifetime.PERMANENT,
    "runs": Lifetime.CAPPED,
    "runs:*": Lifetime.CAPPED,
    "events:*": Lifetime.CAPPED,
    "changes:*": Lifetime.CAPPED,
    "duty": Lifetime.TTL,
    "duty:holder": Lifetime.TTL,
    "lease:*": Lifetime.TTL,
    "worker:*": Lifetime.TTL,
    "hand:*": Lifetime.TTL,
    "occurrence:*": Lifetime.OPEN,
    "manual:*": Lifetime.OPEN,
    "pending:*": Lifetime.OPEN,
    "active:*": Lifetime.OPEN,
    "held:*": Lifetime.OPEN,
    "retrying:*": Lifetime.OPEN,
    "superseded:*": Lifetime.OPEN,
}


@dataclass(frozen=True, slots=True)
class Keys:
    """Names of the keys under one prefix."""

    prefix: str = "duly"

    # One for the fleet.
    @property
    def schedules(self) -> str:
        """Sorted set of all schedule ids, score 0: paged in order of the id."""
        return f"{self.prefix}:schedules"

    @property
    def due(self) -> str:
        """Sorted set of schedule ids by the instant the sweep must look at them next."""
        return f"{self.prefix}:due"

    @property
    def watch(self) -> str:
        """Sorted set of open occurrences by the instant the sweep must look at them next."""
        return f"{self.prefix}:watch"

    @property
    def holds(self) -> str:
        """Sorted set of held occurrences by the instant they were held."""
        return f"{self.prefix}:holds"

    @property
    def approvals(self) -> str:
        """Sorted set of the runs that wait for their reviewer's approval, by the instant they began to."""
        return f"{self.prefix}:approvals"

    @property
    def failing(self) -> str:
        """Sorted set of the schedules whose due tick could not be enqueued and is still due, by that tick."""
        return f"{self.prefix}:failing"

    @property
    def fence(self) -> str:
        """Counter behind every fencing token; it only grows."""
        return f"{self.prefix}:fence"

    @property
    def totals(self) -> str:
        """Counts of what has happened since the store was new; they only grow."""
        return f"{self.prefix}:totals"

    @property
    def duty(self) -> str:
        """The duty lease: the holder's token."""
        return f"{self.prefix}:duty"

    @property
    def duty_holder(self) -> str:
        """Who holds the duty, for people to read; lives as long as the duty."""
        return f"{self.prefix}:duty:holder"

    @property
    def fleet_runs(self) -> str:
        """Run history of the whole fleet."""
        return f"{self.prefix}:runs"

    @property
    def workers(self) -> str:
        """Sorted set of process names by the instant they were last seen."""
        return f"{self.prefix}:workers"

    @property
    def wake_channel(self) -> str:
        """Pub/sub channel (not a key): something became due earlier than the duty holder may expect."""
        return f"{self.prefix}:wake"

    @property
    def duty_channel(self) -> str:
        """Pub/sub channel (not a key): the duty was given up."""
        return f"{self.prefix}:duty-free"

    def worker(self, name: str) -> str:
        """What one process last said of itself."""
        return f"{self.prefix}:worker:{name}"

    def hand(self, worker: str) -> str:
        """The last turn of a worker, by its name in RQ: its number, and the queue and execution that it was given."""
        return f"{self.prefix}:hand:{worker}"

    # One for each schedule.
    def schedule(self, schedule_id: str) -> str:
        """The schedule's record: definition, revision, state, next run."""
        return f"{self.prefix}:schedule:{schedule_id}"

    def superseded(self, schedule_id: str) -> str:
        """Earlier definitions that open occurrences were enqueued with, by revision."""
        return f"{self.prefix}:superseded:{schedule_id}"

    def events(self, schedule_id: str) -> str:
        """Enqueue events: the audit trail of ticks."""
        return f"{self.prefix}:events:{schedule_id}"

    def runs(self, schedule_id: str) -> str:
        """Run history of one schedule."""
        return f"{self.prefix}:runs:{schedule_id}"

    def changes(self, schedule_id: str) -> str:
        """Who changed what of the schedule."""
        return f"{self.prefix}:changes:{schedule_id}"

    def pending(self, schedule_id: str) -> str:
        """Sorted set of ticks in PENDING."""
        return f"{self.prefix}:pending:{schedule_id}"

    def active(self, schedule_id: str) -> str:
        """Sorted set of ticks in LEASED, RUNNING or RETRY_WAIT."""
        return f"{self.prefix}:active:{schedule_id}"

    def retrying(self, schedule_id: str) -> str:
        """Sorted set of those ticks in PENDING that were attempted before: they are between two attempts."""
        return f"{self.prefix}:retrying:{schedule_id}"

    def held(self, schedule_id: str) -> str:
        """Sorted set of ticks in HELD; while there is one the schedule is quarantined."""
        return f"{self.prefix}:held:{schedule_id}"

    # One for each occurrence.
    def occurrence(self, occurrence: Occurrence) -> str:
        """The occurrence's record; this hash is what authorises an attempt."""
        return f"{self.prefix}:occurrence:{occurrence}"

    def lease(self, occurrence: Occurrence) -> str:
        """The lease: its token, with the lease's time to live."""
        return f"{self.prefix}:lease:{occurrence}"

    def manual(self, schedule_id: str, idempotency_key: str) -> str:
        """The tick a manual run was given under this idempotency key."""
        digest = hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return f"{self.prefix}:manual:{schedule_id}:{digest}"

    def stems(self) -> dict[str, str]:
        """The names and stems every script is given as KEYS, in this order.

        A name with a trailing ``:`` is a stem: the script completes it with a schedule id or an occurrence, so
        that a call about hundreds of schedules need not carry thousands of names. (RQ does not run on a
        cluster, so keys need not be declared one by one.)
        """
        return {
            "SCHEDULES": self.schedules,
            "DUE": self.due,
            "WATCH": self.watch,
            "HOLDS": self.holds,
            "APPROVALS": self.approvals,
            "FAILING": self.failing,
            "FENCE": self.fence,
            "TOTALS": self.totals,
            "DUTY": self.duty,
            "DUTY_HOLDER": self.duty_holder,
            "WORKERS": self.workers,
            "FLEET_RUNS": self.fleet_runs,
            "SCHEDULE": self.schedule(""),
            "SUPERSEDED": self.superseded(""),
            "EVENTS": self.events(""),
            "RUNS": self.runs(""),
            "CHANGES": self.changes(""),
            "PENDING": self.pending(""),
            "ACTIVE": self.active(""),
            "HELD": self.held(""),
            "RETRYING": self.retrying(""),
            "OCCURRENCE": f"{self.prefix}:occurrence:",
            "LEASE": f"{self.prefix}:lease:",
            "WORKER": self.worker(""),
            "HAND": self.hand(""),
            "WAKE": self.wake_channel,
            "DUTY_FREE": self.duty_channel,
            "RQ": f"{RQ_KEY_PREFIX}:",
            "RQ_JOB": RQ_JOB_STEM,
            "RQ_QUEUE": RQ_QUEUE_STEM,
            "RQ_QUEUES": RQ_QUEUES,
        }
