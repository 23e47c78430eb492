"""What came of a reviewer's word about a hold."""

from __future__ import annotations

from duly.common.errors import Refused, ScheduleNotFound
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.store import Store


def catch_up_latest(store: Store, occurrence: Occurrence) -> tuple[int | None, str]:
    """Release the latest missed tick, and say what came of it. The hold is resolved by then, whatever comes of it."""
    try:
        tick_ms = store.schedules.release(occurrence.schedule_id)
    except (Refused, ScheduleNotFound) as error:
        return None, f"nothing is caught up: {error}"
    if tick_ms is None:
        return None, "no tick of its present timing was missed"
    return tick_ms, f"{Occurrence(occurrence.schedule_id, tick_ms)} is run too"


def explained_refusal(store: Store, occurrence: Occurrence, refused: Refused) -> Refused:
    """The refusal, and for a hold that was resolved in another way how the occurrence stands since."""
    record = store.attempts.find(occurrence) if refused.code == "resolution_conflict" else None
    if record is None or record.resolution is None or record.state is OccurrenceState.HELD:
        return refused
    earlier = f"{record.resolution['outcome']} by {record.resolution['by']}"
    message = f"{occurrence} was resolved differently already ({earlier}): {_stands(record)}; nothing is held"
    return Refused(message, code=refused.code)


def _stands(record: OccurrenceRecord) -> str:
    if record.state in {OccurrenceState.LEASED, OccurrenceState.RUNNING}:
        return f"attempt {record.attempt} is running"
    if record.state in {OccurrenceState.PENDING, OccurrenceState.RETRY_WAIT}:
        return f"attempt {record.attempt + 1} is waiting to run"
    return f"it ended as {record.state.value}"
