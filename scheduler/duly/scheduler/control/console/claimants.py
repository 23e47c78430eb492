"""Who says that they own, or owned, an occurrence. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.records.occurrence import OccurrenceRecord


@dataclass(frozen=True, slots=True)
class Claimant:
    """One side that says it owns, or owned, the occurrence."""

    who: str
    says: str
    lease: str
    until: str | None


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
