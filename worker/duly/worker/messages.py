"""What a worker asks of its work-horse, and what that answers: JSON objects, which either side reads with distrust."""

from __future__ import annotations

from typing import Any

from duly.common.identity import Occurrence
from duly.common.store.attempts import Lease
from duly.worker.channel import ChannelBroken
from duly.worker.performing import Kind, Outcome
from duly.worker.probe import Probed
from duly.worker.tasks import Task


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


def lease_in(asked: dict[str, Any]) -> Lease:
    """The lease that a request speaks of, without what proves it to the store."""
    occurrence = Occurrence(asked["schedule_id"], asked["tick_ms"])
    return Lease(occurrence, "", "", asked["fencing_token"], asked["attempt"], asked["now_ms"], asked["ttl_ms"], 0)


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
