"""Who is there: the duty holder, the processes of the fleet, and their queues."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from duly.common.errors import StoreProtocolError
from duly.common.instant import stored_ms, to_rfc3339
from duly.common.records.totals import Totals, totals_of
from duly.common.store.connection import Client, translated
from duly.common.store.keys import RQ_QUEUE_STEM, RQ_QUEUES, Keys
from duly.common.store.scripts import Scripts
from duly.common.strict_json import read_kept

log = logging.getLogger(__name__)

WORKER_TTL_MS = 60_000
BEAT_MS = 15_000
"""How long a process that is well is silent at most: schedulers and idle workers beat that often, busy ones oftener."""


class FleetStore:
    """Presence of processes and the length of queues."""

    def __init__(self, client: Client, keys: Keys, scripts: Scripts) -> None:
        self._client = client
        self._keys = keys
        self._scripts = scripts

    def beat(self, name: str, details: dict[str, Any], ttl_ms: int = WORKER_TTL_MS) -> None:
        """Say that the process ``name`` is there and what it does; forgotten after ``ttl_ms`` without a beat."""
        with translated():
            self._scripts.call("beat", name=name, ttl_ms=ttl_ms, details=json.dumps(details))

    def leave(self, name: str) -> None:
        """Say that the process ``name`` has ended."""
        with translated(), self._client.pipeline(transaction=True) as pipe:
            pipe.delete(self._keys.worker(name))
            pipe.zrem(self._keys.workers, name)
            pipe.execute()

    def snapshot(self) -> dict[str, Any]:
        """``{"duty", "workers", "queues", "schedules", "holds", ..., "now"}`` as `duly fleet --json` prints it.

        ``lag_ms``: how long the most overdue schedule has been due, also where its tick was tried, and failed.
        ``failing``: how many there are of those. What a process said that
        cannot be used is named in the log, and hides none of the others. Raises StoreUnavailable, and
        StoreProtocolError for a duty that the scripts do not write.
        """
        keys = self._keys
        with translated(), self._client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hgetall(keys.duty_holder)
            pipe.pttl(keys.duty)
            pipe.zrange(keys.workers, 0, -1, withscores=True)
            pipe.smembers(RQ_QUEUES)
            pipe.zcard(keys.schedules)
            pipe.zcard(keys.holds)
            pipe.zcard(keys.approvals)
            for key in (keys.due, keys.failing):
                pipe.zrange(key, 0, 0, withscores=True)
            pipe.zcard(keys.failing)
            time, duty, duty_left, workers, queues, schedules, holds, approvals, *heads, failing = pipe.execute()
        now_ms = int(time[0]) * 1000 + int(time[1]) // 1000
        return {
            "now": to_rfc3339(now_ms),
            "duty": _duty(duty, duty_left),
            "workers": self._workers(workers, now_ms),
            "queues": self._queues(queues),
            "schedules": schedules,
            "holds": holds,
            "approvals": approvals,
            "failing": failing,
            "lag_ms": max([0, *(now_ms - int(since) for head in heads for _, since in head)]),
        }

    def totals(self) -> Totals:
        """What has happened since the store was new. Every count only grows, unless Redis loses its data.

        Raises StoreUnavailable, and StoreProtocolError for counts that the scripts do not write.
        """
        with translated():
            counts = self._client.hgetall(self._keys.totals)
        try:
            return totals_of(counts)
        except ValueError as error:
            raise StoreProtocolError("the store's counts are none this version knows") from error

    def _workers(self, seen: list[tuple[str, float]], now_ms: int) -> list[dict[str, Any]]:
        if not seen:
            return []
        with translated():
            details = self._client.mget([self._keys.worker(name) for name, _ in seen])
        found = [_process(name, at, text, now_ms) for (name, at), text in zip(seen, details, strict=True) if text]
        return [each for each in found if each is not None]

    def _queues(self, keys: set[str]) -> list[dict[str, Any]]:
        names = sorted(keys)
        with translated(), self._client.pipeline(transaction=False) as pipe:
            for key in names:
                pipe.llen(key)
            lengths = pipe.execute()
        return [
            {"name": key.removeprefix(RQ_QUEUE_STEM), "length": length}
            for key, length in zip(names, lengths, strict=True)
        ]


def _process(name: str, at: float, text: str, now_ms: int) -> dict[str, Any] | None:
    """What a process said of itself and when; None where it is nothing that `FleetStore.beat` writes."""
    try:
        seen_at = to_rfc3339(stored_ms(f"{at:.0f}"))
        told = {"name": name} | read_kept(text)
    except ValueError:
        said = "what process '%s' said of itself is stored in a form that cannot be used"
        log.warning(said, name, extra={"action": "unusable_record"})
        return None
    return told | {"name": name, "seen_at": seen_at, "seen_ms_ago": max(0, now_ms - int(at))}


def _duty(holder: Mapping[str, str], left_ms: int) -> dict[str, Any]:
    if not holder or left_ms <= 0:
        return {"holder": None, "fence": None, "since": None, "expires_in_ms": None}
    try:
        return {
            "holder": holder["holder"],
            "fence": int(holder["fence"]),
            "since": to_rfc3339(stored_ms(holder["since_ms"])),
            "expires_in_ms": left_ms,
        }
    except (KeyError, ValueError) as error:
        raise StoreProtocolError("the record of the duty is none this version knows") from error
