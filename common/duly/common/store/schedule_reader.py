"""Reading schedules: one by id, all in pages, and their definitions for the sweep."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from duly.common.errors import DulyError, ScheduleNotFound
from duly.common.identity import check_schedule_id
from duly.common.records.schedule import ScheduleRecord
from duly.common.store import carry
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys

log = logging.getLogger(__name__)


class ScheduleReader:
    """All schedules of one fleet. Every method raises StoreUnavailable when Redis cannot serve."""

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    def now_ms(self) -> int:
        """The store's clock, in epoch milliseconds."""
        with translated():
            seconds, micros = self._client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def get(self, schedule_id: str) -> ScheduleRecord:
        """The schedule as it stands; raises ScheduleNotFound, and UnusableSchedule."""
        check_schedule_id(schedule_id)
        found = self._read([schedule_id])
        if not found:
            raise ScheduleNotFound(schedule_id)
        return _record(*found[0])

    def seen(self, schedule_id: str) -> tuple[int, int]:
        """The schedule's revision and how many of its occurrences are held, also where it cannot be used.

        Without a revision that can be read it is 0. Raises ScheduleNotFound.
        """
        try:
            found: ScheduleRecord | UnusableSchedule = self.get(schedule_id)
        except UnusableSchedule as unusable:
            found = unusable
        return found.revision, found.held

    def exists(self, schedule_id: str) -> bool:
        with translated():
            return bool(self._client.exists(self._keys.schedule(schedule_id)))

    def ids(self, begin: str, limit: int) -> list[str]:
        """Up to ``limit`` ids of schedules that begin with a text, in order."""
        low, high = (f"[{begin}", f"({begin}\x7f") if begin else ("-", "+")
        with translated():
            return list(self._client.zrange(self._keys.schedules, low, high, bylex=True, offset=0, num=limit))

    def page(self, limit: int, after: str = "") -> tuple[list[ScheduleRecord], str | None]:
        """Up to ``limit`` schedules in order of their ids, from the first id after ``after``.

        The second value is the ``after`` of the next page, or None at the end. Stays right while schedules come
        and go.
        """
        start = f"({after}" if after else "-"
        with translated():
            ids = self._client.zrange(self._keys.schedules, start, "+", bylex=True, offset=0, num=limit + 1)
        more = len(ids) > limit
        ids = ids[:limit]
        return self.usable(ids), ids[-1] if more else None

    def definitions(self, schedule_ids: list[str]) -> list[tuple[str, str] | None]:
        """For each id its definition's revision and JSON text, in one round trip; None where there is none."""
        with translated(), self._client.pipeline(transaction=False) as pipe:
            for schedule_id in schedule_ids:
                pipe.hmget(self._keys.schedule(schedule_id), "definition_revision", "definition")
            return [(row[0], row[1]) if row[1] else None for row in pipe.execute()]

    def usable(self, schedule_ids: list[str]) -> list[ScheduleRecord]:
        """Those of the schedules that are there; one that cannot be used is named in the log and hides no other."""
        found = list[ScheduleRecord]()
        for schedule_id, fields, held in self._read(schedule_ids):
            try:
                found.append(_record(schedule_id, fields, held))
            except UnusableSchedule as error:
                log.warning("%s", error, extra={"action": "unusable_schedule"})
        return found

    def _read(self, schedule_ids: list[str]) -> list[tuple[str, dict[str, str], int]]:
        """(id, fields, holds) of those that are there, at one instant."""
        if not schedule_ids:
            return []
        with translated(), self._client.pipeline(transaction=True) as pipe:
            for schedule_id in schedule_ids:
                pipe.hgetall(self._keys.schedule(schedule_id))
                pipe.zcard(self._keys.held(schedule_id))
            rows = pipe.execute()
        found = zip(schedule_ids, rows[::2], rows[1::2], strict=True)
        return [(schedule_id, fields, held) for schedule_id, fields, held in found if fields]


class UnusableSchedule(DulyError):
    """What is stored under this id is no schedule that this version can use; it can be deleted, and nothing else.

    ``revision``: the one to delete it at, 0 where none can be read. ``held``: how many of its occurrences are held.
    ``reason``: what is wrong with it, in a few words.
    """

    code = "unusable_schedule"

    def __init__(self, schedule_id: str, fields: Mapping[str, str], held: int, reason: str) -> None:
        super().__init__(
            f"schedule '{schedule_id}' is stored in a form that cannot be used ({reason}); "
            f"'duly schedule delete {schedule_id}' removes it"
        )
        self.schedule_id = schedule_id
        self.revision = _revision(fields)
        self.held = held
        self.reason = reason
        self.seen = {
            "schedule_id": schedule_id,
            "revision": fields.get("revision", ""),
            "next_run_ms": fields.get("next_run_ms", ""),
            "carry": fields.get("carry", ""),
        }


def _revision(fields: Mapping[str, str]) -> int:
    try:
        return max(0, int(fields["revision"]))
    except (KeyError, ValueError):
        return 0  # the first revision of a schedule is 1


def _record(schedule_id: str, fields: Mapping[str, str], held: int) -> ScheduleRecord:
    try:
        record = ScheduleRecord.from_hash(fields, held)
        # Nothing reads it until ticks are carried; found then, it would stop whoever asks for something else.
        carry.load(record.carry)
    except (DulyError, KeyError, ValueError) as error:
        reason = str(error) if isinstance(error, DulyError) else "a field is missing or no number"
        raise UnusableSchedule(schedule_id, fields, held, reason) from error
    return record
