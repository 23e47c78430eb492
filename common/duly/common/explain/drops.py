"""What made ticks be dropped together: the missed-run policy, a pause, or that their schedule was deleted.

Their record does not say. The end of a pause, an edit and a deletion record what they pass over in the script that
records the change, so both have one instant; what no change accounts for was dropped by policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from duly.common.records.trail import ChangeEvent, EnqueueEvent
from duly.common.store import Store

_CHANGES_KEPT = 100


class Cause(StrEnum):
    """Each in a few words."""

    POLICY = "missed-run policy"
    PAUSE = "passed over by a pause"
    DELETION = "schedule deleted"


_BY_CHANGE = {"resumed": Cause.PAUSE, "updated": Cause.PAUSE, "deleted": Cause.DELETION}
_SENTENCES = {
    Cause.POLICY: "dropped by the missed-run policy",
    Cause.PAUSE: "passed over by a pause",
    Cause.DELETION: "not run, since the schedule was deleted,",
}


def drop_causes(store: Store, schedule_id: str, events: Iterable[EnqueueEvent]) -> dict[str, Cause]:
    """By cursor, why the records among the events that speak of dropped ticks do; without those that cannot be told."""
    drops = [event for event in events if event.reason == "backlog_dropped"]
    changes = store.trails.changes(schedule_id, _CHANGES_KEPT)[0] if drops else []
    told = {drop.cursor: cause_of(drop, changes) for drop in drops}
    return {cursor: cause for cursor, cause in told.items() if cause is not None}


def cause_of(drop: EnqueueEvent, changes: Sequence[ChangeEvent]) -> Cause | None:
    """Why the ticks were dropped, from the newest changes; None where they do not reach back far enough. Pure."""
    for change in changes:
        at_once = change.at_ms == drop.recorded_ms and change.what in _BY_CHANGE
        if at_once and change.detail.get("passed_over", str(drop.count)) == str(drop.count):
            return _BY_CHANGE[change.what]
    reaches_back = any(change.at_ms < drop.recorded_ms for change in changes)
    return Cause.POLICY if reaches_back else None


def sentence(cause: Cause) -> str:
    """What became of the ticks."""
    return _SENTENCES[cause]
