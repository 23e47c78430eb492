"""The gate between the lease and the work: may this attempt begin? Pure."""

from __future__ import annotations

from enum import StrEnum

from duly.common.records.occurrence import Effects, OccurrenceRecord


class Verdict(StrEnum):
    """What the record allows."""

    BEGIN = "begin"
    ASK_PROBE = "ask_probe"
    HOLD = "hold"


PROBE_ANSWERS = frozenset({"COMMITTED", "NO_COMMITTED_RESULT", "UNKNOWN"})


def decide(record: OccurrenceRecord, effects: Effects) -> Verdict:
    """Decide from the record read with the lease. An unknown outcome of an earlier attempt never counts as none."""
    if record.prior_outcome != "UNKNOWN":
        return Verdict.BEGIN
    if effects is Effects.IDEMPOTENT:
        return Verdict.BEGIN
    if effects is Effects.GUARDED:
        return Verdict.ASK_PROBE
    return Verdict.HOLD
