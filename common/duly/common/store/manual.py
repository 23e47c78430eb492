"""Extra runs that a person asks for. They leave the timetable alone and pass the same gates as any other run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from duly.common.errors import Held, InvalidField, Refused, RevisionConflict, ScheduleNotFound
from duly.common.identity import Occurrence, job_id
from duly.common.records.schedule import ScheduleRecord
from duly.common.settings import Settings
from duly.common.store import jobs
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys
from duly.common.store.schedules import ScheduleStore
from duly.common.store.scripts import Scripts

MAX_KEY_LENGTH = 200
_MOST_AT_ONCE = 100
"""Extra runs of one schedule in one millisecond: each takes a millisecond of its own, the first free one before."""


@dataclass(frozen=True, slots=True)
class ManualRun:
    """The occurrence of an extra run, and whether this request made it (``replayed`` False) or found it."""

    occurrence: Occurrence
    job_id: str
    replayed: bool


class ManualRuns:
    """Enqueues extra runs."""

    def __init__(self, client: Client, keys: Keys, scripts: Scripts, settings: Settings) -> None:
        self._schedules = ScheduleStore(client, keys, scripts)
        self._keys = keys
        self._scripts = scripts
        self._queue_limit = settings.queue_limit

    def run(self, schedule_id: str, key: str, request: str = "") -> ManualRun:
        """Enqueue one extra run now; the same ``key`` gives the same run until a day after it ended.

        ``request``: what else was asked with the key. Raises ScheduleNotFound, Held when the schedule is quarantined,
        Refused when it is paused, its queue is full, or the key came with another request before, InvalidField for an
        unusable key.
        """
        if not 1 <= len(key) <= MAX_KEY_LENGTH or not key.isprintable():
            raise InvalidField("idempotency_key", f"must be 1-{MAX_KEY_LENGTH} printable characters")
        word, tick_ms = "again", self._schedules.now_ms()
        for _ in range(_MOST_AT_ONCE):
            record = self._schedules.get(schedule_id)
            tick_ms = _between_ticks(record, tick_ms)
            word, found = self._ask(record, key, request, tick_ms)
            if word in {"accepted", "replayed"}:
                occurrence = Occurrence(schedule_id, int(found))
                return ManualRun(occurrence, job_id(occurrence, 1), replayed=word == "replayed")
            if word not in {"again", "changed"}:
                break
            tick_ms -= 1
        raise _refusal(word, schedule_id)

    def _ask(self, record: ScheduleRecord, key: str, request: str, tick_ms: int) -> tuple[str, str]:
        with translated():
            reply = self._scripts.call(
                "run_now",
                jobs.shared_fields(record.definition.queue, tick_ms),
                schedule_id=record.schedule_id,
                revision=record.revision,
                request=hashlib.sha256(request.encode()).hexdigest()[:16] if request else "",
                manual_key=self._keys.manual(record.schedule_id, key),
                tick_ms=tick_ms,
                queue_limit=self._queue_limit,
            )
        return reply[0], reply[1] if len(reply) > 1 else ""


def _between_ticks(record: ScheduleRecord, instant_ms: int) -> int:
    """The last millisecond up to ``instant_ms`` that is no tick of the schedule: those belong to the sweep."""
    while record.definition.timetable.is_tick(instant_ms):
        instant_ms -= 1
    return instant_ms


def _refusal(word: str, schedule_id: str) -> Exception:
    if word == "missing":
        return ScheduleNotFound(schedule_id)
    if word == "quarantined":
        return Held(f"schedule '{schedule_id}' is quarantined: resolve its holds first (duly holds)")
    if word == "conflict":
        return Refused("this idempotency key was used with another request", code="idempotency_conflict")
    if word == "paused":
        return Refused(f"schedule '{schedule_id}' is paused; resume it first", code="paused")
    if word == "unusable":
        return Refused(
            f"schedule '{schedule_id}' has lost what its runs would keep; write it again (duly schedule update)",
            code="unusable_schedule",
        )
    if word == "backpressure":
        return Refused(f"the queue of schedule '{schedule_id}' is full", code="backpressure")
    return RevisionConflict(schedule_id)
