"""Why there is no record of an occurrence, from what else is on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duly.common.contract import Case
from duly.common.errors import OccurrenceNotFound
from duly.common.explain.drops import drop_causes, sentence
from duly.common.explain.text import count, relative
from duly.common.explain.trails import find_schedule
from duly.common.explain.words import audit_reason
from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.records.evidence import unleased_case
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.records.trail import EnqueueEvent, RunEvent
from duly.common.store import Store, carry

_AUDIT_KEPT = 100


class NoSuchOccurrence(OccurrenceNotFound):
    """There is no record, and none is to be expected; the message says what is known."""

    def __init__(self, occurrence: Occurrence, why: str) -> None:
        super().__init__(occurrence.schedule_id, occurrence.tick_ms)
        self.args = (f"{self}: {why}",)


@dataclass(frozen=True, slots=True)
class Absence:
    """The explanation, and the audit records it rests on."""

    explanation: str
    events: Sequence[EnqueueEvent] = ()
    case: Case | None = None
    """Of a tick that is still ahead: what there will be to decide on."""


def explain_absence(store: Store, occurrence: Occurrence, timeline: Sequence[RunEvent], now_ms: int) -> Absence:
    """Why the record is not there; raises NoSuchOccurrence when there neither was nor will be one.

    Raises UnusableSchedule where only the definition could tell, and cannot be used.
    """
    record, unusable = find_schedule(store, occurrence.schedule_id)
    events = _events(store, occurrence, record)
    if timeline:
        return Absence(f"it ended as {timeline[-1].state}; its record has expired, its history has not", events)
    if events:
        return Absence(_audited(store, occurrence, events[0]), events)
    if unusable is not None:
        raise unusable
    if record is None:
        raise NoSuchOccurrence(occurrence, "the schedule was deleted, and its audit trail does not name this tick")
    return Absence(_place(record, occurrence, now_ms), case=_case_ahead(record, occurrence.tick_ms, now_ms))


def _events(store: Store, occurrence: Occurrence, record: ScheduleRecord | None) -> list[EnqueueEvent]:
    page, _ = store.trails.events(occurrence.schedule_id, _AUDIT_KEPT)
    tick_ms = occurrence.tick_ms
    # A range names its ends; what lies between them is a tick only if the expression says so.
    is_tick = record is None or record.definition.timetable.is_tick(tick_ms)
    return [
        event
        for event in page
        if tick_ms in {event.tick_ms, event.first_tick_ms, event.last_tick_ms}
        or (is_tick and event.first_tick_ms < tick_ms < event.last_tick_ms)
    ]


def _audited(store: Store, occurrence: Occurrence, event: EnqueueEvent) -> str:
    at = to_rfc3339(event.recorded_ms)
    if event.reason == "backlog_dropped":
        span = f"{to_rfc3339(event.first_tick_ms)} to {to_rfc3339(event.last_tick_ms)}"
        cause = drop_causes(store, occurrence.schedule_id, [event]).get(event.cursor)
        said = audit_reason(event.reason) if cause is None else sentence(cause)
        return f"{said} with {count(event.count, 'tick')}, {span}, on record since {at}"
    if event.outcome in {"enqueued", "deduplicated"}:
        return f"{audit_reason(event.reason)} at {at}; its record has expired since"
    return f"{audit_reason(event.reason)}, at {at}"


def _place(record: ScheduleRecord, occurrence: Occurrence, now_ms: int) -> str:
    """Where the tick lies in the schedule's future; raises NoSuchOccurrence where it has none."""
    timetable, tick_ms = record.definition.timetable, occurrence.tick_ms
    for carried in carry.load(record.carry):
        inside = carried.next_run_ms <= tick_ms <= carried.until_ms
        if inside and carried.definition.timetable.is_tick(tick_ms):
            return "due under an earlier definition of the schedule; it waits for the sweep"
    if not timetable.is_tick(tick_ms):
        following = timetable.next_after(tick_ms)
        hint = "" if following is None else f"; the next one is {to_rfc3339(following)} ({following})"
        raise NoSuchOccurrence(occurrence, f"that instant is no tick of '{record.definition.spec}'{hint}")
    if record.next_run_ms is None or tick_ms < record.next_run_ms:
        known = "the schedule was written after it" if tick_ms <= record.created_ms else "nothing is known of this tick"
        raise NoSuchOccurrence(occurrence, known)
    return _ahead(record, tick_ms, now_ms)


def _case_ahead(record: ScheduleRecord, tick_ms: int, now_ms: int) -> Case | None:
    if tick_ms <= now_ms:
        return None
    definition = record.definition
    jitter_ms = definition.timetable.release_ms(tick_ms) - tick_ms
    return unleased_case(
        definition,
        tick_ms,
        now_ms=now_ms,
        jitter_ms=jitter_ms,
        last_run_ms=record.last_run_ms,
        next_run_ms=record.next_run_ms,
    )


def _ahead(record: ScheduleRecord, tick_ms: int, now_ms: int) -> str:
    if record.state is ScheduleState.PAUSED:
        return f"not due: the schedule is paused ({record.note})"
    if tick_ms <= now_ms:
        return "due, and not yet swept: is a worker or 'duly scheduler' running? (duly fleet)"
    if record.state is ScheduleState.QUARANTINED:
        holds = count(record.held, "open hold")
        return f"due {relative(tick_ms, now_ms)}; skipped if its schedule is then still quarantined by {holds}"
    if tick_ms == record.next_run_ms:
        return f"the next run of the schedule, due {relative(tick_ms, now_ms)}"
    return f"a tick of the schedule, due {relative(tick_ms, now_ms)}, after the next run"
