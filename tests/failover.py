"""What a failover does to the records when it loses writes that were acknowledged."""

from __future__ import annotations

from duly.common.identity import Occurrence
from duly.common.store import Store

_CLAIM = ("lease_id", "lease_owner", "lease_expires_ms", "fencing_token", "counted", "began_ms", "effects")


def forget_the_lease(store: Store, occurrence: Occurrence) -> None:
    """The claim of an occurrence's first attempt is lost: lease and record are as they were before it."""
    client, keys = store.client, store.keys
    with client.pipeline(transaction=True) as pipe:
        pipe.delete(keys.lease(occurrence))
        pipe.hdel(keys.occurrence(occurrence), *_CLAIM, "decisions", "decision:1")
        pipe.hset(keys.occurrence(occurrence), mapping={"state": "PENDING", "attempt": 0})
        pipe.zrem(keys.active(occurrence.schedule_id), occurrence.tick_ms)
        pipe.zadd(keys.pending(occurrence.schedule_id), {str(occurrence.tick_ms): occurrence.tick_ms})
        pipe.zadd(keys.watch, {str(occurrence): 0})
        pipe.execute()
    client.publish(keys.wake_channel, "")
