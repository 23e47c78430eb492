"""The definitions that a duty holder has read, so that a tick costs no reading of one: what it needs of them, no more.

A large fleet has many schedules and few ways of saying when and how. What schedules have in common is kept once; a
schedule of its own takes some hundred bytes.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, replace

from duly.common.records.definition import ScheduleDefinition
from duly.common.store.survey import DueSchedule
from duly.common.timetable import Timetable
from duly.scheduler.admission import Admission
from duly.scheduler.missed_run import MissedRuns

MOST_KNOWN = 100_000
"""Definitions that are kept between sweeps; those not used for the longest go first."""
_MOST_SHARED = 10_000


@dataclass(frozen=True, slots=True)
class Rules:
    """What definitions may have in common. The timetable is nobody's: its jitter is that of a schedule."""

    timetable: Timetable
    missed_runs: MissedRuns
    admission: Admission
    queue: str

    @classmethod
    def of(cls, definition: ScheduleDefinition) -> Rules:
        """The rules by which a definition's ticks are enqueued."""
        return cls(
            definition.timetable.of(""),
            MissedRuns.of(definition),
            Admission.of(definition),
            sys.intern(definition.queue),
        )


@dataclass(frozen=True, slots=True)
class Known:
    """One definition. ``definition`` itself only where somebody asks for it: it is ten times the size of the rest."""

    schedule_id: str
    incarnation: str
    revision: str
    digest: str
    rules: Rules
    definition: ScheduleDefinition | None = None

    @property
    def timetable(self) -> Timetable:
        """Its ticks, and when each may be released."""
        return self.rules.timetable.of(self.schedule_id)


def known(due: DueSchedule, revision: str, definition: ScheduleDefinition) -> Known:
    """A definition of the schedule, with all that it says."""
    return Known(due.schedule_id, due.incarnation, revision, definition.digest, Rules.of(definition), definition)


class Definitions:
    """What is known, by schedule. ``whole``: the definitions themselves are kept, too."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._rules: dict[Rules, Rules] = {}

    def get(self, due: DueSchedule) -> Known | None:
        """What is known of the schedule as it is now."""
        found = self._known.get(due.schedule_id)
        if found is None or (found.incarnation, found.revision) != (due.incarnation, due.definition_revision):
            return None
        return found

    def learn(self, due: DueSchedule, definition: ScheduleDefinition) -> None:
        """Remember the schedule's present definition."""
        if len(self._rules) >= _MOST_SHARED:
            self._rules.clear()  # what is in use stays in use; it is shared with none that come
        whole = known(due, sys.intern(due.definition_revision), definition)
        rules = self._rules.setdefault(whole.rules, whole.rules)
        self._known[due.schedule_id] = replace(whole, rules=rules, definition=definition if self._whole else None)
        self._known.move_to_end(due.schedule_id)

    def forget(self) -> None:
        """Keep within bounds. Only between sweeps: a sweep needs all that it has learnt."""
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
