"""The decisions about an occurrence made again from its record, and whether they still fit it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duly.common.contract import Case, Verdict, write_case
from duly.common.records.occurrence import OccurrenceRecord


@dataclass(frozen=True, slots=True)
class Redecided:
    """One recorded decision, decided again; ``recorded`` is empty where it cannot be read."""

    number: int
    recorded: str
    case: Case
    again: Verdict

    @property
    def same(self) -> bool:
        return self.recorded == self.again.decision

    def to_dict(self) -> dict[str, Any]:
        """With its case, ready for `duly contract decide`."""
        return {
            "number": self.number,
            "recorded": self.recorded,
            "recomputed": self.again.to_dict(),
            "same": self.same,
            "case": write_case(self.case),
        }


@dataclass(frozen=True, slots=True)
class Recomputed:
    """All decisions about an occurrence, the oldest first; ``misfit``: what its record says that they do not."""

    decisions: Sequence[Redecided]
    misfit: str | None

    @property
    def same(self) -> bool:
        """Whether every decision comes out as it was recorded, and fits the record."""
        return self.misfit is None and all(each.same for each in self.decisions)


def recomputed(record: OccurrenceRecord) -> Recomputed:
    """Decide again, from the evidence kept with each decision and nothing else."""
    decisions = [Redecided(each.number, each.decision, each.case, each.again()) for each in record.decisions]
    return Recomputed(decisions, _misfit(record) if record.decisions else None)


def _misfit(record: OccurrenceRecord) -> str | None:
    last = record.decisions[-1].decision
    if record.hold_reason is not None and record.hold_reason != last:
        return f"it is held for {record.hold_reason}, and what was decided last is {last or 'not readable'}"
    keys = {each.evidence.fields.get("idempotency_key", "") for each in record.decisions}
    if keys != {record.idempotency_key}:
        return "its idempotency key is not the one that was decided on"
    return None
