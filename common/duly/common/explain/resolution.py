"""What came of a reviewer's word about a hold."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.errors import DulyError, Refused, StoreProtocolError, StoreUnavailable
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.store import Store


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What came of a catch-up. ``said`` tells a person; ``tick_ms`` is the tick that is run too, None without one.

    ``code`` is stable: `caught_up`, `nothing_missed`, or the code of the error that stood in the way.
    """

    code: str
    said: str
    tick_ms: int | None = None


def catch_up_latest(store: Store, occurrence: Occurrence) -> CatchUp:
    """Release the latest missed tick, and say what came of it.

    Nothing is raised on purpose: the hold is resolved by then, and whoever resolved it must hear so.
    """
    try:
        tick_ms = store.schedules.release(occurrence.schedule_id)
    except (StoreUnavailable, StoreProtocolError) as error:
        return CatchUp(error.code, f"whether the latest missed tick is run too is not known: {error}")
    except DulyError as error:
        return CatchUp(error.code, f"nothing is caught up: {error}")
    if tick_ms is None:
        return CatchUp("nothing_missed", "no tick of its present timing was missed")
    return CatchUp("caught_up", f"{Occurrence(occurrence.schedule_id, tick_ms)} is run too", tick_ms)


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
