"""The account of ticks: what every definition made due while it reigned, and what became of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from duly.common.records.definition import ScheduleDefinition
from duly.common.records.edit import timing_changed
from tests.simulator.internals import Call, Records, asked_for, drop_to_come, read_definition
from tests.simulator.stage import Process, Stage, Violation

NO_TICK_LOST = "no due tick vanishes"
FORWARD = "ticks only move forward"
COMPARED = "edits are compared and set"
ONE_OCCURRENCE = "one occurrence for a tick"
OWN_DEFINITION = "ticks keep their definition"
NOT_EARLY = "no tick before its time"
EDITS = {
    "add_schedule": "created",
    "update_schedule": "updated",
    "pause_schedule": "paused",
    "resume_schedule": "resumed",
    "release_schedule": "released",
    "delete_schedule": "deleted",
}


@dataclass(slots=True)
class Reign:
    """A timetable that held from one instant (not included) to another (included; None: it still holds).

    Between the reading of the clock and the writing, up to ``sure_ms``, an edit's tick may be due or not.
    """

    definition: ScheduleDefinition
    after_ms: int
    sure_ms: int
    last_ms: int | None = None

    def ticks(self, until_ms: int) -> list[int]:
        timetable, found = self.definition.timetable, []
        last = until_ms if self.last_ms is None else min(self.last_ms, until_ms)
        tick = timetable.next_after(self.after_ms)
        while tick is not None and tick <= last:
            found.append(tick)
            tick = timetable.next_after(tick)
        return found

    def holds(self, tick: int) -> bool:
        inside = self.after_ms < tick and (self.last_ms is None or tick <= self.last_ms)
        return inside and self.definition.timetable.is_tick(tick)


@dataclass(slots=True)
class Ledger:
    """One schedule's ticks, through all edits, deletions and new beginnings."""

    reigns: list[Reign] = field(default_factory=list)
    settled: dict[int, list[str]] = field(default_factory=dict)
    ranges: list[tuple[int, int, int]] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)
    live: dict[str, str] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    """Ticks that somebody wanted to run after all, whatever became of them before."""

    def done(self, tick: int) -> bool:
        """Whether it is on record by itself, and not as one that stayed due."""
        return any(not word.startswith("failed:") for word in self.settled.get(tick, []))


class TickBook:
    """Raises Violation when a tick is enqueued twice or invented at once, and when one is missing in `audit`."""

    def __init__(self, stage: Stage, records: Records) -> None:
        self._stage, self._records = stage, records
        self.ledgers: dict[str, Ledger] = {}

    def after(self, call: Call, process: Process) -> None:
        if call.word == EDITS.get(call.script):
            schedule_id = call.arguments["schedule_id"]
            ledger = self.ledgers.setdefault(schedule_id, Ledger())
            if ledger.live and call.arguments.get("revision", ledger.live["revision"]) != ledger.live["revision"]:
                raise Violation(COMPARED, f"{call.script} of {schedule_id} was made to another revision than it saw")
            self._edited(ledger, call, process)
            self._read(schedule_id, call)
        elif call.script == "dispatch" and call.word == "dispatched":
            for schedule_id in self.ledgers:
                self._read(schedule_id, call)
        elif call.script == "acquire" and call.word == "acquired":
            self._definition_kept(call)

    def backlogs(self) -> set[str]:
        """Schedules with a backlog that was cut: its later parts were decided with the first."""
        return {schedule_id for schedule_id, ledger in self.ledgers.items() if ledger.live.get("backlog")}

    def asked(self) -> set[str]:
        """Ticks that somebody asked for."""
        return {f"{schedule_id}@{tick}" for schedule_id, ledger in self.ledgers.items() for tick in ledger.asked}

    def _edited(self, ledger: Ledger, call: Call, process: Process) -> None:
        now_ms, read_ms = self._stage.now_ms, process.notes.get("read_ms", self._stage.now_ms)
        if call.script == "add_schedule":
            ledger.reigns.append(Reign(read_definition(call.arguments["definition"]), now_ms, now_ms))
        elif call.script == "update_schedule":
            new, old = read_definition(call.arguments["definition"]), ledger.reigns[-1]
            if timing_changed(old.definition, new):
                # The edit was planned with what was due when it read the clock: that is when it takes effect.
                old.last_ms = read_ms
                ledger.reigns.append(Reign(new, read_ms, now_ms))
            else:
                old.definition = new
                if ledger.live.get("next_run_ms") != call.arguments["new_next_ms"]:
                    raise Violation(FORWARD, f"an edit that kept its timing moved {call.arguments['schedule_id']}")
        elif call.script == "delete_schedule":
            ledger.reigns[-1].last_ms = read_ms

    def _read(self, schedule_id: str, call: Call) -> None:
        """Take in what the script recorded of this schedule."""
        ledger, before = self.ledgers[schedule_id], self.ledgers[schedule_id].live
        ledger.live = live = self._records.schedule(schedule_id)
        if live:
            ledger.definitions[f"{live['incarnation']}.{live['definition_revision']}"] = live["definition"]
        if call.script == "release_schedule":
            ledger.asked |= asked_for(live)
        stood, stands = before.get("next_run_ms"), live.get("next_run_ms")
        if call.script in {"dispatch", "resume_schedule"} and stood and stands and int(stands) < int(stood):
            raise Violation(FORWARD, f"{schedule_id} went back to {live['next_run_ms']}")
        for event in self._records.new_events(schedule_id):
            self._enter(schedule_id, ledger, event)

    def _enter(self, schedule_id: str, ledger: Ledger, event: dict[str, str]) -> None:
        said, tick = f"{event['outcome']}:{event['reason']}", int(event["tick_ms"])
        self._stage.say(f"  {schedule_id}@{tick} {said} {event['count']}")
        if event["reason"] == "backlog_dropped":
            entry = (int(event["first_tick_ms"]), int(event["last_tick_ms"]), int(event["count"]))
            ledger.ranges.append(entry)
            return
        words = ledger.settled.setdefault(tick, [])
        if said == "enqueued:accepted" and said in words:
            raise Violation(ONE_OCCURRENCE, f"{schedule_id}@{tick} was enqueued twice")
        if said == "enqueued:accepted" and int(event["recorded_ms"]) < tick:
            raise Violation(NOT_EARLY, f"{schedule_id}@{tick} was enqueued at {event['recorded_ms']}")
        words.append(said)
        if not any(reign.holds(tick) for reign in ledger.reigns):
            raise Violation(NO_TICK_LOST, f"{schedule_id}@{tick} is no tick of any definition")

    def _definition_kept(self, call: Call) -> None:
        schedule_id, tick = call.arguments["schedule_id"], int(call.arguments["tick_ms"])
        record = self._records.occurrence(f"{schedule_id}@{tick}")
        ledger, name = self.ledgers[schedule_id], f"{record['incarnation']}.{record['revision']}"
        given = call.reply[2]
        if given != ledger.definitions.get(name):
            raise Violation(OWN_DEFINITION, f"{schedule_id}@{tick} was given another definition than {name}")
        definition = read_definition(given)
        if record["kind"] == "scheduled" and not definition.timetable.is_tick(tick):
            raise Violation(OWN_DEFINITION, f"{schedule_id}@{tick} is no tick of its definition")
        if (record["task"], record["overlap"]) != (definition.task, definition.overlap):
            raise Violation(OWN_DEFINITION, f"{schedule_id}@{tick} runs on other terms than its definition's")

    # At the end.
    def swept(self, full: Callable[[str], bool]) -> bool:
        """Whether no active schedule has a tick that waits for the sweep, but where what waits already is too much."""
        return all(self._up_to_date(each) or full(each) for each in self.ledgers)

    def _up_to_date(self, schedule_id: str) -> bool:
        live, now_ms = self._records.schedule(schedule_id), self._stage.now_ms
        if not live:
            return True
        if "failures" in live and self._records.due_ms(schedule_id) > now_ms:
            return True  # the queue was full, and it waits for its next turn
        if live["state"] == "paused":
            return not live["paused_until_ms"] or int(live["paused_until_ms"]) > now_ms
        if live["carry"]:
            return False
        if not live["next_run_ms"]:
            return True
        timetable = read_definition(live["definition"]).timetable
        return timetable.release_ms(int(live["next_run_ms"])) > now_ms

    def audit(self) -> None:
        """Every tick that was due is accounted for, and every count is right."""
        for schedule_id, ledger in self.ledgers.items():
            live = self._records.schedule(schedule_id)
            for reign in ledger.reigns:
                self._audit_reign(schedule_id, ledger, reign, live)
            for first, last, count in ledger.ranges:
                self._audit_range(schedule_id, ledger, first, last, count)

    def _audit_reign(self, schedule_id: str, ledger: Ledger, reign: Reign, live: dict[str, str]) -> None:
        until_ms = self._stage.now_ms
        if reign.last_ms is None and live.get("next_run_ms"):
            until_ms = int(live["next_run_ms"]) - 1
        elif live.get("carry"):
            return  # paused with ticks of earlier definitions, which wait for its end
        to_come = drop_to_come(live)
        ranges = [*ledger.ranges, *([to_come] if to_come else [])]
        for tick in reign.ticks(until_ms):
            dropped = any(first <= tick <= last for first, last, *_ in ranges)
            if tick > reign.sure_ms and not ledger.done(tick) and not dropped:
                words = ", ".join(ledger.settled.get(tick, []))
                raise Violation(NO_TICK_LOST, f"nothing is on record of {schedule_id}@{tick} ({words})")

    def _audit_range(self, schedule_id: str, ledger: Ledger, first: int, last: int, count: int) -> None:
        reigns = [r for r in ledger.reigns if r.after_ms < last and (r.last_ms is None or r.last_ms >= first)]
        if len(reigns) != 1 or first <= reigns[0].sure_ms:
            return  # one record may speak of the ticks of several definitions
        ticks = [tick for tick in reigns[0].ticks(last) if tick >= first]
        # Two drops of one interrupted backlog are one record; what was settled between them is on record by itself.
        inside = [(a, b) for a, b, _ in ledger.ranges if first <= a and b <= last and (a, b) != (first, last)]
        left = [tick for tick in ticks if not ledger.done(tick) and not any(a <= tick <= b for a, b in inside)]
        # A tick that was dropped, wanted after all and dropped again is on record twice, and counts each time.
        dropped = sorted({*left, *(tick for tick in ticks if tick in ledger.asked)})
        if len(dropped) != count or (dropped and (dropped[0], dropped[-1]) != (first, last)):
            said = f"{count} dropped from {first} to {last}, not {len(dropped)}"
            raise Violation(NO_TICK_LOST, f"{schedule_id}: {said}")
