"""What was decided about an occurrence and from which evidence, ready to be read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duly.common.cli.decision_lines import shown_value
from duly.common.cli.words import hold_reason
from duly.common.contract import Case, Decision, Verdict, write_case
from duly.common.contract.fields import EVIDENCE, OBSERVED
from duly.common.records.evidence import RecordedDecision
from duly.common.records.occurrence import OccurrenceRecord


@dataclass(frozen=True, slots=True)
class Fact:
    """One field of a case."""

    name: str
    title: str
    meaning: str
    value: str
    blocks: bool


@dataclass(frozen=True, slots=True)
class Claimant:
    """One side that says it owns, or owned, the occurrence."""

    who: str
    says: str
    lease: str
    until: str | None


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict, or None while there is none, with the evidence behind it: the eighteen fields, and what was seen."""

    title: str
    verdict: Verdict | None
    evidence: Sequence[Fact]
    observed: Sequence[Fact]

    @property
    def also(self) -> Sequence[Decision]:
        """The holds besides the one that decided."""
        return () if self.verdict is None else self.verdict.holds[1:]


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One recorded decision, decided again."""

    number: int
    recorded: str
    again: Verdict

    @property
    def same(self) -> bool:
        return self.recorded == self.again.decision


def judged(title: str, case: Case, verdict: Verdict | None) -> Judged:
    """The case and what was decided on it."""
    written = write_case(case)
    blocking = verdict.blocking_fields if verdict is not None else ()
    return Judged(
        title,
        verdict,
        list(_facts(EVIDENCE, written["evidence"], blocking)),
        list(_facts(OBSERVED, written["observed"], blocking)),
    )


def last_judged(record: OccurrenceRecord) -> Judged | None:
    """What was decided last; None while nothing was."""
    if not record.decisions:
        return None
    last = record.decisions[-1]
    return judged(f"Decision {last.number} of {len(record.decisions)}", last.case, last.again())


def recomputed(decisions: Iterable[RecordedDecision]) -> list[Recomputed]:
    """Every decision made again, from the record alone."""
    return [Recomputed(each.number, each.decision, each.again()) for each in decisions]


def why_held(record: OccurrenceRecord) -> str:
    """Why somebody is asked, in plain words."""
    if record.awaits_approval:
        return "its schedule lets it run only when its reviewer approves it"
    if record.decisions and record.decisions[-1].decision == record.hold_reason:
        return record.decisions[-1].again().explanation
    return hold_reason(record.hold_reason)


def claimants(record: OccurrenceRecord) -> list[Claimant]:
    """Who says what about the occurrence: its recorded owner, every other claim, and results that came late."""
    sides = list[Claimant]()
    if record.lease_owner:
        said = record.result_ref or record.last_error
        told = "began, and reported nothing" if said is None else f"reported {said}"
        token = "" if record.fencing_token is None else f"fencing token {record.fencing_token}"
        sides.append(Claimant(record.lease_owner, told, token, "owner on record"))
    for lease, owner in record.claims.items():
        sides.append(Claimant(owner, "came with another lease while this one was not over", f"lease {lease}", None))
    for token, reference in record.late_results.items():
        said = f"reported {reference} without a proven lease: evidence, not success"
        sides.append(Claimant(f"holder of fencing token {token}", said, f"fencing token {token}", None))
    return sides


def _facts(fields: Iterable[Any], values: Mapping[str, Any], blocking: Sequence[str]) -> Iterator[Fact]:
    left = dict(values)
    for field in fields:
        told = shown_value(field.name, left.pop(field.name)) if field.name in left else "(unreadable)"
        yield Fact(field.name, field.title, field.description, told, field.name in blocking)
    for name, value in left.items():
        yield Fact(name, name.replace("_", " ").capitalize(), "", shown_value(name, value), name in blocking)
