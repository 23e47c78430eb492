"""Reading the past: enqueue events and run history, newest first, in bounded pages that stay right as records come."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from duly.common.errors import InvalidField
from duly.common.identity import check_schedule_id
from duly.common.records.trail import ChangeEvent, EnqueueEvent, RunEvent
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys

log = logging.getLogger(__name__)

_CURSOR = re.compile(r"\d{1,20}-\d{1,20}", re.ASCII)
_Record = TypeVar("_Record", EnqueueEvent, RunEvent, ChangeEvent)


class TrailStore:
    """Audit trails and run history of one fleet.

    An entry that cannot be used is named in the log and hides none of the others: a page is then shorter than it
    could be, and its cursor leads on all the same.
    """

    def __init__(self, client: Client, keys: Keys) -> None:
        self._client = client
        self._keys = keys

    def events(
        self, schedule_id: str, limit: int = 30, cursor: str | None = None
    ) -> tuple[list[EnqueueEvent], str | None]:
        """Enqueue events of one schedule, newest first, and the cursor of the next page (None at the end).

        Also works for a deleted schedule, whose trail is kept. Raises InvalidField for a bad cursor.
        """
        key = self._keys.events(check_schedule_id(schedule_id))
        return self._page(key, limit, cursor, EnqueueEvent)

    def runs(
        self, schedule_id: str | None = None, limit: int = 30, cursor: str | None = None
    ) -> tuple[list[RunEvent], str | None]:
        """Run history of one schedule, or of the fleet, newest first, and the cursor of the next page."""
        return self._page(self._runs_key(schedule_id), limit, cursor, RunEvent)

    def changes(
        self, schedule_id: str, limit: int = 30, cursor: str | None = None
    ) -> tuple[list[ChangeEvent], str | None]:
        """Who changed what of a schedule, newest first, and the cursor of the next page; also of a deleted one."""
        return self._page(self._keys.changes(check_schedule_id(schedule_id)), limit, cursor, ChangeEvent)

    def runs_after(
        self, cursor: str, schedule_id: str | None = None, block_ms: int = 1000, limit: int = 100
    ) -> tuple[list[RunEvent], str]:
        """Run history recorded after ``cursor``, oldest first, and the cursor to go on from; waits up to ``block_ms``.

        ``$`` stands for now on. It can be empty, and its cursor another one, before the wait is over.
        """
        key = self._runs_key(schedule_id)
        with translated():
            reply: Any = self._client.xread({key: cursor}, count=limit, block=block_ms)
        if not reply:
            return [], cursor
        entries = reply[key][0] if isinstance(reply, dict) else reply[0][1]
        return _usable(RunEvent, key, entries), str(entries[-1][0])

    def last_run_cursor(self, schedule_id: str | None = None) -> str:
        """The cursor after which `runs_after` gives what is recorded from now on."""
        with translated():
            newest = self._client.xrevrange(self._runs_key(schedule_id), count=1)
        return str(newest[0][0]) if newest else "0-0"

    def has_trail(self, schedule_id: str) -> bool:
        """Whether anything is recorded under this id, also of a schedule deleted since."""
        keys = (self._keys.events(schedule_id), self._keys.runs(schedule_id), self._keys.changes(schedule_id))
        with translated():
            return bool(self._client.exists(*keys))

    def _runs_key(self, schedule_id: str | None) -> str:
        return self._keys.fleet_runs if schedule_id is None else self._keys.runs(check_schedule_id(schedule_id))

    def _page(self, key: str, limit: int, cursor: str | None, kind: type[_Record]) -> tuple[list[_Record], str | None]:
        if cursor is not None and not _is_cursor(cursor):
            raise InvalidField("cursor", "is none that a page of this list gave")
        newest = f"({cursor}" if cursor else "+"
        with translated():
            entries = self._client.xrevrange(key, newest, "-", count=limit + 1)
        return _usable(kind, key, entries[:limit]), str(entries[limit - 1][0]) if len(entries) > limit else None


def _usable(kind: type[_Record], key: str, entries: Sequence[tuple[str, Mapping[str, str]]]) -> list[_Record]:
    found = list[_Record]()
    for entry_id, fields in entries:
        try:
            found.append(kind.from_entry(entry_id, fields))
        except (KeyError, ValueError):
            said = "entry %s of %s is stored in a form that cannot be used"
            log.warning(said, entry_id, key, extra={"action": "unusable_record"})
    return found


def _is_cursor(text: str) -> bool:
    """Whether the text is a stream id: two numbers of 64 bits."""
    return bool(_CURSOR.fullmatch(text)) and all(int(part) < 2**64 for part in text.split("-"))
