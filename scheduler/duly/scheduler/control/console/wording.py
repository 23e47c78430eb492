"""Words and times as every page shows them. Pure."""

from __future__ import annotations

from typing import Any

from duly.common.contract import Verdict
from duly.common.explain import words
from duly.common.explain.text import count, duration, relative
from duly.common.instant import to_datetime, to_rfc3339
from duly.common.owners import fleet_name
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.occurrence import OccurrenceState

POLICIES = {"skip": "Skip backlog", "run_once": "Run once", "backfill": "Backfill up to N"}
POLICY_MEANINGS = {
    "skip": "after an outage only the latest tick runs; the rest is recorded as skipped",
    "run_once": "after an outage the missed ticks together make one run",
    "backfill": "after an outage the N latest missed ticks run, the oldest first",
}
_TONES: dict[str, str] = {
    OccurrenceState.PENDING: "waiting",
    OccurrenceState.LEASED: "running",
    OccurrenceState.RUNNING: "running",
    OccurrenceState.RETRY_WAIT: "failed",
    OccurrenceState.HELD: "held",
    OccurrenceState.SUCCEEDED: "done",
    OccurrenceState.COALESCED: "skipped",
    OccurrenceState.CANCELLED: "skipped",
    OccurrenceState.ABANDONED: "abandoned",
}
_SCHEDULE_TONES = {"active": "done", "paused": "skipped", "quarantined": "held"}
_AUDIT_TONES = {"enqueued": "waiting", "deduplicated": "skipped", "skipped": "skipped", "failed": "failed"}


def policy(definition: ScheduleDefinition) -> str:
    """The missed-run policy, as the console names it."""
    if definition.missed_run_policy == "backfill":
        return f"Backfill up to {definition.backfill_limit}"
    return POLICIES[definition.missed_run_policy]


def policy_meaning(definition: ScheduleDefinition) -> str:
    """What the policy does after an outage, with the schedule's own number."""
    return POLICY_MEANINGS[definition.missed_run_policy].replace(
        "the N latest", f"the {definition.backfill_limit} latest"
    )


def tone(state: str | None) -> str:
    """The shape and colour of a state of an occurrence or a schedule, or of an outcome in the audit trail."""
    if state is None:
        return "none"
    return _TONES.get(state) or _SCHEDULE_TONES.get(state) or _AUDIT_TONES.get(state) or "none"


def verdict_tone(verdict: Verdict) -> str:
    """The same for what the contract decided."""
    return "held" if verdict.decision.holds else "done" if verdict.runs else "skipped"


def verdict_word(verdict: Verdict) -> str:
    """What the contract decided, in a word or two."""
    return "may run" if verdict.runs else plain(verdict.decision.value)


def sentence(text: str) -> str:
    """The text with a capital, unless it begins with the name of an occurrence."""
    return text if "@" in text.partition(" ")[0] else text[:1].upper() + text[1:]


def stamp(ms: int) -> str:
    """``2026-01-31 09:00:00``, UTC, with thousandths where there are any."""
    text = to_datetime(ms).strftime("%Y-%m-%d %H:%M:%S")
    return text + (f".{ms % 1000:03d}" if ms % 1000 else "")


def clock(ms: int) -> str:
    """``09:00:00``, UTC."""
    return to_datetime(ms).strftime("%H:%M:%S")


def plain(code: str) -> str:
    """A code as words: ``HOLD_LEASE_MISSING`` as ``lease missing``."""
    return code.removeprefix("HOLD_").replace("_", " ").lower()


GLOBALS: dict[str, Any] = {
    "audit_reason": words.audit_reason,
    "cause": words.cause,
    "clock": clock,
    "count": count,
    "duration": duration,
    "fleet_name": fleet_name,
    "hold_reason": words.hold_reason,
    "iso": to_rfc3339,
    "last_error": words.last_error,
    "plain": plain,
    "policy": policy,
    "policy_meaning": policy_meaning,
    "POLICIES": POLICIES,
    "POLICY_MEANINGS": POLICY_MEANINGS,
    "relative": relative,
    "sentence": sentence,
    "stamp": stamp,
    "tone": tone,
    "transition": words.transition,
    "verdict_tone": verdict_tone,
    "verdict_word": verdict_word,
}
