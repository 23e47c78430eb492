"""All that is known of one tick: why it ran, did not run, or waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duly.common.explain import words
from duly.common.explain.absence import explain_absence
from duly.common.explain.judged import Judged, judged_ahead, judged_of
from duly.common.explain.text import count
from duly.common.explain.trails import timeline_of
from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store


@dataclass(frozen=True, slots=True)
class Explained:
    """A tick at one instant; ``record`` is None where there is none, and ``explanation`` then says why."""

    occurrence: Occurrence
    now_ms: int
    record: OccurrenceRecord | None
    explanation: str
    released_by: str | None
    """What ends the state it is in; None when it is over, or has no record."""
    orphaned: bool
    """Whether its schedule was deleted since it was enqueued: nothing of it is attempted again."""
    judged: Judged | None
    timeline: Sequence[RunEvent]
    """Every transition that history still holds, the oldest first; see `trimmed`."""
    events: Sequence[EnqueueEvent] = ()
    """Without a record, the audit records that the explanation rests on."""

    @property
    def trimmed(self) -> bool:
        """Whether history has dropped older transitions of it: each occurrence that has a record began as enqueued."""
        began = self.timeline[0].event == "enqueued" if self.timeline else False
        enqueued = self.record is not None or any(event.outcome == "enqueued" for event in self.events)
        return not began and (enqueued or bool(self.timeline))

    def to_dict(self) -> dict[str, Any]:
        """As `duly occurrence --json` and the API print it."""
        timeline = [event.to_dict() for event in self.timeline]
        judged = self.judged.to_dict() if self.judged else {"decision": None, "evidence": None, "observed": None}
        if self.record is not None:
            return {
                **self.record.to_dict(),
                "on_record": True,
                "explanation": self.explanation,
                "released_by": self.released_by,
                **judged,
                "timeline": timeline,
                "timeline_trimmed": self.trimmed,
            }
        return {
            "schedule_id": self.occurrence.schedule_id,
            "tick_ms": self.occurrence.tick_ms,
            "tick_at": to_rfc3339(self.occurrence.tick_ms),
            "on_record": False,
            "explanation": self.explanation,
            **judged,
            "events": [event.to_dict() for event in self.events],
            "timeline": timeline,
            "timeline_trimmed": self.trimmed,
        }


def explain_occurrence(store: Store, occurrence: Occurrence) -> Explained:
    """What is known of the tick; raises OccurrenceNotFound where there neither was nor will be one."""
    record = store.attempts.find(occurrence)
    timeline = timeline_of(store, occurrence)
    now_ms = store.schedules.now_ms()
    if record is None:
        absence = explain_absence(store, occurrence, timeline, now_ms)
        ahead = None if absence.case is None else judged_ahead(absence.case)
        return Explained(occurrence, now_ms, None, absence.explanation, None, False, ahead, timeline, absence.events)
    orphaned = bool(store.holds.orphaned([record]))
    released_by = _released_by(store, record, now_ms, orphaned=orphaned)
    said, judged = words.state(record, now_ms), judged_of(store, record)
    return Explained(occurrence, now_ms, record, said, released_by, orphaned, judged, timeline)


def _released_by(store: Store, record: OccurrenceRecord, now_ms: int, *, orphaned: bool) -> str | None:
    """What ends the state it is in; for a pending one, what stands before that."""
    released_by = words.release(record, now_ms)
    if record.state is not OccurrenceState.PENDING:
        return released_by
    if orphaned:
        return "its next delivery, which cancels it: its schedule was deleted"
    # Not from the schedule, which may be stored in a form that cannot be used: the record is good all the same.
    held = store.holds.count_of(record.occurrence.schedule_id)
    return (
        f"the reviewer of {count(held, 'hold')} of its schedule (duly holds); then {released_by}"
        if held
        else released_by
    )
