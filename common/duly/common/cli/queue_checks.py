"""Whether the queues that schedules use are duly's alone: a worker takes whatever is on its queues, as RQ's do."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import islice

from duly.common.cli.checks import Check, Status
from duly.common.errors import StoreUnavailable
from duly.common.owners import is_instance
from duly.common.store import Store
from duly.common.store.connection import Client, translated
from duly.common.store.keys import RQ_JOB_STEM, RQ_QUEUE_STEM, RQ_WORKER_STEM, RQ_WORKERS_OF_QUEUE

_SCHEDULES = 200
_QUEUES = 20
_JOBS = 5
_WORKERS = 100
_NAMED = 3
# Pickle's first byte since its protocol 2; JSON never begins with it.
_PICKLED = b"\x80"


def examine_queues(store: Store) -> Check:
    """What is there besides duly on the queues of schedules: a bounded look at the first jobs and workers of each."""
    try:
        queues = _queues(store)
        pickled = [name for name in queues if _holds_pickled(store.client, name)]
        strangers = {name: found for name in queues if (found := _strangers(store.client, name))}
    except StoreUnavailable:
        return Check("queues", Status.UNKNOWN, "they may not be read here", "allow LRANGE, HGET and SRANDMEMBER")
    if not queues:
        return Check("queues", Status.OK, "no schedule uses one yet")
    if not pickled and not strangers:
        return Check("queues", Status.OK, f"{_listed(queues)}: no pickled jobs, no other RQ workers")
    found = [f"'{name}' holds pickled jobs" for name in pickled]
    found += [f"RQ workers that are not duly's listen on '{name}': {_listed(who)}" for name, who in strangers.items()]
    advice = "give schedules queues of their own: duly moves pickled jobs to RQ's failed registry unrun"
    if strangers:
        advice += ", and other RQ workers take duly's jobs away"
    return Check("queues", Status.WARN, "; ".join(found), advice)


def _queues(store: Store) -> Sequence[str]:
    records, _ = store.schedules.page(_SCHEDULES)
    return list(islice(dict.fromkeys(record.definition.queue for record in records), _QUEUES))


def _holds_pickled(client: Client, queue: str) -> bool:
    with translated():
        jobs = client.lrange(f"{RQ_QUEUE_STEM}{queue}", 0, _JOBS - 1)
        # Undecoded: what is pickled is no text.
        data = [client.execute_command("HGET", f"{RQ_JOB_STEM}{job}", "data", NEVER_DECODE=True) for job in jobs]
    return any(_first_byte(each) == _PICKLED for each in data if each)


def _first_byte(data: bytes) -> bytes:
    """Of the call in a job, which RQ compresses."""
    try:
        return zlib.decompressobj().decompress(data, 1)
    except zlib.error:
        return data[:1]


def _strangers(client: Client, queue: str) -> Sequence[str]:
    """Living RQ workers that no duly started, as far as RQ knows of them."""
    with translated():
        keys = sorted(client.srandmember(RQ_WORKERS_OF_QUEUE % queue, _WORKERS))
        others = [key for key in keys if not is_instance(key.removeprefix(RQ_WORKER_STEM))]
        return [key.removeprefix(RQ_WORKER_STEM) for key in others if client.exists(key)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
