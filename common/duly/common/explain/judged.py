"""What the contract says of an occurrence, and what it said it on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duly.common.contract import Case, Decision, Verdict, decide, write_case
from duly.common.explain.facts import Facts, facts_of
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.store import Store


@dataclass(frozen=True, slots=True)
class Judged:
    """What was decided last, or the case as it stands now: of a tick that is still ahead, or before any decision."""

    case: Case
    verdict: Verdict | None
    """None while nothing has been decided."""
    number: int | None = None
    """Which of the decisions on record it is, from 1; None where the case is as it stands now."""
    decisions: int = 0
    """How many decisions are on record."""
    over: bool = False
    """The occurrence has gone on since, or is over."""

    @property
    def facts(self) -> Facts:
        return facts_of(self.case, self.verdict)

    @property
    def also(self) -> Sequence[Decision]:
        """The holds besides the one that decided."""
        return () if self.verdict is None else self.verdict.holds[1:]

    def to_dict(self) -> dict[str, Any]:
        """The decision and its case, as `--json` and the API print them."""
        return {"decision": None if self.verdict is None else self.verdict.to_dict(), **write_case(self.case)}


def judged_of(store: Store, record: OccurrenceRecord) -> Judged:
    """What was decided last, or the evidence as it stands while nothing was."""
    last = last_judged(record)
    if last is not None:
        return last
    return Judged(store.attempts.evidence(record.occurrence).case(), None, over=record.state.terminal)


def last_judged(record: OccurrenceRecord) -> Judged | None:
    """What was decided last; None while nothing was. Pure."""
    if not record.decisions:
        return None
    last = record.decisions[-1]
    gone_on = record.state is not OccurrenceState.HELD
    return Judged(last.case, last.again(), last.number, len(record.decisions), gone_on)


def judged_ahead(case: Case) -> Judged:
    """What would be decided now of a tick that is still ahead. Pure."""
    return Judged(case, decide(case))
