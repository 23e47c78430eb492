"""Schedules in the store: written, listed, edited, paused, resumed and deleted.

Every change is a compare-and-set on the schedule's revision and on the run it stands at. Where only the sweep
moved the schedule meanwhile, the change is planned again from what is there now; where a person changed it,
RevisionConflict is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from duly.common.errors import Held, InvalidField, Refused, RevisionConflict, ScheduleExists, ScheduleNotFound
from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.edit import changed_definition, changed_fields, timing_changed
from duly.common.records.line import MAX_NOTE, check_line
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store import carry
from duly.common.store.connection import Client, translated
from duly.common.store.keys import Keys
from duly.common.store.schedule_reader import ScheduleReader, UnusableSchedule
from duly.common.store.scripts import Scripts, Value
from duly.common.store.terms import terms_of
from duly.common.timetable import TickRange, Timetable

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Edit:
    """What an edit did: the record after it, and the ticks it touched.

    ``carried``: due ticks of the old definition that the sweep will still settle. ``dropped``: ticks passed over
    because the schedule was paused. ``next_run_before_ms`` and ``next_run_ms``: where it stood and where it stands.
    """

    record: ScheduleRecord
    next_run_before_ms: int | None
    next_run_ms: int | None
    carried: TickRange | None = None
    dropped: TickRange | None = None


class ScheduleStore(ScheduleReader):
    """Every change to the schedules of one fleet. Every method raises StoreUnavailable when Redis cannot serve."""

    def __init__(self, client: Client, keys: Keys, scripts: Scripts) -> None:
        super().__init__(client, keys)
        self._scripts = scripts

    def add(
        self, definition: ScheduleDefinition, *, paused: str | None = None, until_ms: int | None = None
    ) -> ScheduleRecord:
        """Write a new schedule; its first tick is the first after now. Raises ScheduleExists.

        ``paused``, a note, writes it paused from the start, until resumed or until ``until_ms``.
        """
        note = "" if paused is None else check_line("note", paused, MAX_NOTE)

        def attempt() -> list[Any]:
            next_ms = definition.timetable.next_after(self.now_ms())
            return self._call(
                "add_schedule",
                schedule_id=definition.schedule_id,
                definition=definition.to_json(),
                terms=terms_of(definition),
                next_run_ms=_text(next_ms),
                due_ms=_release(definition.timetable, next_ms) if paused is None else _text(until_ms),
                state=ScheduleState.ACTIVE.value if paused is None else ScheduleState.PAUSED.value,
                note=note,
                paused_until_ms=_text(until_ms),
            )

        if self._until_settled(attempt)[0] == "exists":
            raise ScheduleExists(definition.schedule_id)
        return self.get(definition.schedule_id)

    def update(self, schedule_id: str, changes: Mapping[str, Any], *, revision: int | None = None) -> Edit:
        """Change fields of a schedule; fields not named keep their values.

        ``changes`` holds definition fields. With ``revision`` the change is made only to that revision.
        Raises ScheduleNotFound, RevisionConflict, InvalidField.
        """
        edit: Edit | None = None

        def attempt() -> list[Any]:
            nonlocal edit
            record = self._at_revision(schedule_id, revision)
            definition = changed_definition(record.definition, changes)
            edit, arguments = self._plan_edit(record, definition)
            return self._call(
                "update_schedule", definition=definition.to_json(), terms=terms_of(definition), **arguments
            )

        self._raise_for(self._until_settled(attempt)[0], schedule_id)
        assert edit is not None
        return replace(edit, record=self.get(schedule_id))

    def preview_update(self, schedule_id: str, changes: Mapping[str, Any]) -> Edit:
        """What `update` would do now, without doing it; ``record`` is the schedule as it would stand."""
        record = self.get(schedule_id)
        definition = changed_definition(record.definition, changes)
        edit, _ = self._plan_edit(record, definition)
        return replace(edit, record=replace(record, definition=definition, next_run_ms=edit.next_run_ms))

    def pause(
        self, schedule_id: str, note: str, until_ms: int | None = None, *, revision: int | None = None
    ) -> ScheduleRecord:
        """Stop the schedule's ticks from being due, with a note, until resumed or until ``until_ms``."""
        note = check_line("note", note, MAX_NOTE)
        if until_ms is not None and until_ms <= self.now_ms():
            raise InvalidField("until", "must lie in the future")

        def attempt() -> list[Any]:
            record = self._at_revision(schedule_id, revision)
            return self._call("pause_schedule", note=note, until_ms=_text(until_ms), **_seen(record))

        self._raise_for(self._until_settled(attempt)[0], schedule_id)
        return self.get(schedule_id)

    def resume(
        self, schedule_id: str, catch_up: str = "none", *, revision: int | None = None, ended_ms: int | None = None
    ) -> Edit:
        """End a pause. ``catch_up``: ``none`` starts at the next tick, ``latest`` also runs the latest missed one.

        ``ended_ms``: when the pause ended by itself; ticks from then on are due and follow the missed-run policy.
        The ticks passed over are recorded as one audit record. Raises Refused when the schedule is not paused.
        """
        if catch_up not in {"none", "latest"}:
            raise InvalidField("catch_up", "must be 'latest' or 'none'")
        edit: Edit | None = None

        def attempt() -> list[Any]:
            nonlocal edit
            record = self._at_revision(schedule_id, revision)
            now_ms = self.now_ms() if ended_ms is None else ended_ms - 1
            timetable = record.definition.timetable
            missed = _due_range(timetable, record.next_run_ms, now_ms)
            # An edit during the pause may have moved it further than the pause's end.
            stands_ms = now_ms if record.next_run_ms is None else max(now_ms, record.next_run_ms - 1)
            next_ms = timetable.next_after(stands_ms)
            dropped = missed
            if catch_up == "latest" and missed:
                next_ms = missed.last_ms
                dropped = timetable.range_between(missed.first_ms, missed.last_ms - 1)
            edit = Edit(record, record.next_run_ms, next_ms, dropped=dropped)
            return self._call(
                "resume_schedule",
                may_be_due=int(catch_up == "latest" or ended_ms is not None),
                new_next_ms=_text(next_ms),
                new_due_ms="0" if record.carry else _release(timetable, next_ms),
                **_seen(record),
                **_dropped(dropped),
            )

        word = self._until_settled(attempt)[0]
        if word == "not_paused":
            raise Refused(f"schedule '{schedule_id}' is not paused", code="not_paused")
        self._raise_for(word, schedule_id)
        assert edit is not None
        return replace(edit, record=self.get(schedule_id))

    def release(self, schedule_id: str, catch_up: str = "latest", *, revision: int | None = None) -> int | None:
        """Run the latest tick that passed while the schedule was held: its tick_ms, or None when none was missed.

        It goes the way of every due tick, hooks, overlap and lateness included. With ``catch_up`` ``none`` nothing is
        changed, and the schedule waits for its next tick. Raises ScheduleNotFound, Refused when the schedule is paused,
        Held while something of it is still held, RevisionConflict.
        """
        if catch_up not in {"none", "latest"}:
            raise InvalidField("catch_up", "must be 'latest' or 'none'")
        if catch_up == "none":
            record = self._at_revision(schedule_id, revision)
            word = "paused" if record.state is ScheduleState.PAUSED else "held" if record.held else "released"
            self._raise_unreleased(word, schedule_id, "resume it first")
            return None
        tick_ms: int | None = None

        def attempt() -> list[Any]:
            nonlocal tick_ms
            record = self._at_revision(schedule_id, revision)
            tick_ms = latest_missed(record, self.now_ms())
            carried = carry.load(record.carry)
            asked = bool(carried) and carried[-1].asked_for and carried[-1].until_ms == tick_ms
            if tick_ms is not None and not asked:
                ahead = carry.CarriedTicks(record.definition, record.definition_revision, tick_ms, tick_ms, True)
                carried.append(ahead)
            return self._call(
                "release_schedule", new_carry=carry.dump(carried), tick_ms=_text(tick_ms), **_seen(record)
            )

        word = self._until_settled(attempt)[0]
        self._raise_unreleased(word, schedule_id, "resume it with --catch-up latest")
        return tick_ms

    def delete(self, schedule_id: str, *, revision: int | None = None) -> None:
        """Remove the schedule. Its audit trail, run history and holds stay readable.

        Due ticks that nobody has swept are recorded as dropped. A schedule stored in a form that cannot be used can
        be deleted too; its ticks cannot be told. With ``revision`` only that revision is removed. Raises
        ScheduleNotFound, RevisionConflict.
        """

        def attempt() -> list[Any]:
            try:
                record = self._at_revision(schedule_id, revision)
            except UnusableSchedule as error:
                if revision is not None and error.revision != revision:
                    raise RevisionConflict(schedule_id) from error
                return self._call("delete_schedule", **error.seen, **_dropped(None))
            return self._call("delete_schedule", **_seen(record), **_dropped(self._unswept(record)))

        self._raise_for(self._until_settled(attempt)[0], schedule_id)

    def _unswept(self, record: ScheduleRecord) -> TickRange | None:
        """All ticks of the schedule that are due and not settled, those of earlier definitions included."""
        ranges = [c.definition.timetable.range_between(c.next_run_ms, c.until_ms) for c in carry.load(record.carry)]
        ranges.append(_due_range(record.definition.timetable, record.next_run_ms, self.now_ms()))
        found = [each for each in ranges if each is not None]
        if not found:
            return None
        return TickRange(sum(each.count for each in found), found[0].first_ms, found[-1].last_ms)

    def _plan_edit(self, record: ScheduleRecord, definition: ScheduleDefinition) -> tuple[Edit, dict[str, Value]]:
        old, timing_kept = record.definition, not timing_changed(record.definition, definition)
        if timing_kept:
            next_ms, carried, dropped, carry_text = record.next_run_ms, None, None, record.carry
        else:
            now_ms = self.now_ms()
            next_ms = definition.timetable.next_after(now_ms)
            passed = _due_range(old.timetable, record.next_run_ms, now_ms)
            paused = record.state is ScheduleState.PAUSED
            carried, dropped = (None, passed) if paused else (passed, None)
            carry_text = self._carry(record, carried, now_ms)
        due = (
            _text(record.paused_until_ms)
            if record.state is ScheduleState.PAUSED
            else ("0" if carry_text else _release(definition.timetable, next_ms))
        )
        arguments: dict[str, Value] = {
            **_seen(record),
            **_dropped(dropped),
            "new_next_ms": _text(next_ms),
            "new_due_ms": due,
            "new_carry": carry_text,
            "timing_changed": int(not timing_kept),
            "detail": canonical_json({"fields": changed_fields(old, definition)}),
        }
        return Edit(record, record.next_run_ms, next_ms, carried, dropped), arguments

    @staticmethod
    def _carry(record: ScheduleRecord, due: TickRange | None, now_ms: int) -> str:
        if due is None:
            return record.carry
        carried = carry.load(record.carry)
        if len(carried) >= carry.MAX_CARRIED:
            raise Refused(
                f"schedule '{record.schedule_id}' was edited {len(carried)} times while ticks were due and nobody "
                "swept them; start a worker or 'duly scheduler' first",
                code="unswept_edits",
            )
        entry = carry.CarriedTicks(record.definition, record.definition_revision, due.first_ms, now_ms)
        return carry.dump([*carried, entry])

    def _at_revision(self, schedule_id: str, revision: int | None) -> ScheduleRecord:
        record = self.get(schedule_id)
        if revision is not None and record.revision != revision:
            raise RevisionConflict(schedule_id)
        return record

    def _call(self, name: str, **arguments: Value) -> list[Any]:
        with translated():
            return self._scripts.call(name, **arguments)

    @staticmethod
    def _until_settled(attempt: Callable[[], list[Any]]) -> list[Any]:
        """Ask again while only the clock or the sweep moved between the reading and the writing."""
        for _ in range(_ATTEMPTS):
            reply = attempt()
            if reply[0] != "again":
                return reply
        raise Refused("the schedule's ticks come faster than it can be changed; pause it first", code="busy")

    def _raise_unreleased(self, word: str, schedule_id: str, when_paused: str) -> None:
        if word == "held":
            raise Held(f"schedule '{schedule_id}' is quarantined: resolve its holds first (duly holds)")
        if word == "paused":
            raise Refused(f"schedule '{schedule_id}' is paused; {when_paused}", code="paused")
        self._raise_for(word, schedule_id)

    @staticmethod
    def _raise_for(word: str, schedule_id: str) -> None:
        if word == "missing":
            raise ScheduleNotFound(schedule_id)
        if word == "changed":
            raise RevisionConflict(schedule_id)


def _due_range(timetable: Timetable, next_run_ms: int | None, now_ms: int) -> TickRange | None:
    if next_run_ms is None or next_run_ms > now_ms:
        return None
    return timetable.range_between(next_run_ms, now_ms)


def latest_missed(record: ScheduleRecord, now_ms: int) -> int | None:
    """The latest tick that passed without becoming an occurrence; None when there is none, or the sweep has it yet."""
    tick_ms = record.definition.timetable.latest_released(now_ms, record.timing_ms + 1)
    if tick_ms is None or tick_ms <= (record.last_tick_ms or 0):
        return None
    return None if record.next_run_ms is not None and record.next_run_ms <= tick_ms else tick_ms


def _seen(record: ScheduleRecord) -> dict[str, Value]:
    return {
        "schedule_id": record.schedule_id,
        "revision": record.revision,
        "next_run_ms": _text(record.next_run_ms),
        "carry": record.carry,
    }


def _dropped(ticks: TickRange | None) -> dict[str, Value]:
    return {
        "dropped_count": ticks.count if ticks else 0,
        "dropped_first": ticks.first_ms if ticks else "",
        "dropped_last": ticks.last_ms if ticks else "",
    }


def _release(timetable: Timetable, tick_ms: int | None) -> str:
    return "" if tick_ms is None else str(timetable.release_ms(tick_ms))


def _text(value: int | None) -> str:
    return "" if value is None else str(value)
