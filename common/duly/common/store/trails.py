"""Reading the past: enqueue events and run history, newest first, in bounded pages that stay right as records come."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from duly.common.errors import InvalidField
from duly.common.identity import check_schedule_id
from duly.common.records.trail import ChangeEvent, EnqueueEvent, RunEvent
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys

_CURSOR = re.compile(r"\d{1,20}-\d{1,20}", re.ASCII)
_Record = TypeVar("_Record", EnqueueEvent, RunEvent, ChangeEvent)


class TrailStore:
    """Audit trails and run history of one fleet."""

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
    ) -> list[RunEvent]:
        """Run history recorded after ``cursor`` (``$`` for now on), oldest first; waits up to ``block_ms``."""
        key = self._runs_key(schedule_id)
        with translated():
            reply: Any = self._client.xread({key: cursor}, count=limit, block=block_ms)
        if not reply:
            return []
        entries = reply[key][0] if isinstance(reply, dict) else reply[0][1]
        return [RunEvent.from_entry(entry_id, fields) for entry_id, fields in entries]

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
        page = [kind.from_entry(entry_id, fields) for entry_id, fields in entries[:limit]]
        return page, page[-1].cursor if len(entries) > limit else None


def _is_cursor(text: str) -> bool:
    """Whether the text is a stream id: two numbers of 64 bits."""
    return bool(_CURSOR.fullmatch(text)) and all(int(part) < 2**64 for part in text.split("-"))
