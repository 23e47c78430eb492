"""What waits for a reviewer, and why. Pure."""

from __future__ import annotations

from typing import Any

from duly.common.explain.words import hold_reason
from duly.common.records.occurrence import OccurrenceRecord


def told_hold(record: OccurrenceRecord, *, orphaned: bool) -> dict[str, Any]:
    """What waits, as `--json` and the API print it: the record, why it waits, and the decision that holds it."""
    verdict = record.decisions[-1].again() if record.hold_reason and record.decisions else None
    return {
        **record.to_dict(),
        "reason": record.waits_because,
        "schedule_deleted": orphaned,
        "decision": None if verdict is None else verdict.to_dict(),
    }


def why_waiting(record: OccurrenceRecord) -> str:
    """Why somebody is asked, in plain words."""
    if record.awaits_approval:
        return "its schedule lets it run only when its reviewer approves it"
    if record.decisions and record.decisions[-1].decision == record.hold_reason:
        return record.decisions[-1].again().explanation
    return hold_reason(record.hold_reason)
