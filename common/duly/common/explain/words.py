"""Codes of the records in plain words. Pure; a code this version does not know is shown as it is."""

from __future__ import annotations

from duly.common.explain.text import duration, relative
from duly.common.instant import to_rfc3339
from duly.common.owners import fleet_name
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.records.trail import ChangeEvent, RunEvent

HOLDS = {
    "HOLD_SCHEDULE_IDENTITY_INCOMPLETE": "the record does not say which schedule it belongs to",
    "HOLD_REVIEW_OWNER_MISSING": "nobody is named who answers for it",
    "HOLD_MISSED_RUN_POLICY_UNKNOWN": "the missed-run policy is unknown",
    "HOLD_IDEMPOTENCY_KEY_MISSING": "its idempotency key is missing or belongs to another occurrence",
    "HOLD_POLICY_NOT_RECOMPUTED": "the missed-run policy belongs to another kind of schedule",
    "HOLD_CHRONOLOGY_INVALID": "its instants contradict each other or the expression",
    "HOLD_JITTER_EXCEEDS_WINDOW": "it was released outside its jitter window",
    "HOLD_CONCURRENT_LEASE_CLAIM": "two leases claim it at once",
    "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN": "its lease expired after the work had begun; the outcome is unknown",
    "HOLD_PRIOR_OUTCOME_UNKNOWN": "the outcome of an earlier attempt is unknown",
    "HOLD_LEASE_MISSING": "no proven lease covers it",
    "HOLD_RETRY_BUDGET_EXHAUSTED": "every allowed attempt was made",
    "HOLD_BACKOFF_STATE_MISSING": "an earlier attempt left no backoff state",
}
ENDS = {
    "schedule_deleted": "its schedule was deleted",
    "too_late": "it was found later than its schedule allows",
    "overlap": "an earlier occurrence was running",
    "newer_tick_due": "a newer tick took its place",
    "probe": "the probe found the effect of an earlier attempt",
    "resolved": "a reviewer resolved its hold",
}
CAUSES = {
    "timeout": "its time-out ended the work",
    "worker_died": "the process that ran it died",
    "lease_expired": "its worker was not heard of again, and its lease ran out",
    "definition_forgotten": "its definition was edited away after it had seemed to be over",
    "worker_stopping": "its worker had to stop",
    "evidence_unsettled": "what is known of it changed faster than it could be decided on",
}
AUDIT = {
    "accepted": "enqueued",
    "replayed": "enqueued before; found again after a crash or a change of duty",
    "unique_key": "this occurrence existed already",
    "id_conflict": "its job id was taken by something else",
    "quarantined": "skipped: an earlier occurrence was held",
    "too_late": "skipped: found later than the schedule allows",
    "overlap": "skipped: an earlier occurrence was running",
    "hook_veto": "skipped: an enqueue hook vetoed it",
    "backlog_dropped": "dropped by the missed-run policy or passed over by a pause",
    "store_unavailable": "failed: Redis could not serve; still due",
    "backpressure": "failed: the queue is full; still due",
    "invalid_schedule": "failed: the stored schedule cannot be used",
    "hook_error": "failed: an enqueue hook raised; still due",
}
_AUDIT_BRIEF = {
    "accepted": "",
    "replayed": "enqueued before; found again",
    "unique_key": "it existed already",
    "id_conflict": "its job id was taken",
    "quarantined": "a hold is open",
    "too_late": "found too late",
    "overlap": "an earlier one was running",
    "hook_veto": "vetoed by an enqueue hook",
    "backlog_dropped": "missed-run policy or pause",
    "store_unavailable": "Redis could not serve",
    "backpressure": "the queue is full",
    "invalid_schedule": "the schedule is unusable",
    "hook_error": "an enqueue hook raised",
}
_TRANSITIONS: dict[tuple[str, str | None], str] = {
    ("enqueued", "scheduled"): "enqueued",
    ("enqueued", "manual"): "enqueued: an extra run",
    ("began", "CALENDAR_RUN_REVIEW_REQUIRED"): "began",
    ("began", "INTERVAL_RUN_REVIEW_REQUIRED"): "began",
    ("began", "BOUNDED_CATCH_UP_REVIEW_REQUIRED"): "began: a bounded catch-up",
    ("delivered", "due"): "delivered",
    ("delivered", "again"): "delivered again: was not queued",
    ("refused", "owned"): "refused: another owns it",
    ("coalesced", "newer_tick_due"): "gave way to a newer tick",
    ("succeeded", "resolved"): "succeeded, says a reviewer",
    ("succeeded", "probe"): "succeeded, says its probe",
    ("abandoned", "resolved"): "abandoned by a reviewer",
}
_NAMES_AN_ERROR = {"failed", "late_failure"}
_STATES = {
    OccurrenceState.SUCCEEDED: "done",
    OccurrenceState.COALESCED: "not run",
    OccurrenceState.CANCELLED: "not run",
    OccurrenceState.ABANDONED: "given up by a reviewer",
}


def hold_reason(code: str | None) -> str:
    """Why an occurrence is held."""
    return HOLDS.get(code or "", code or "unknown")


def cause(code: str | None) -> str | None:
    """What ended an attempt without an outcome; None when nothing is known to have."""
    return CAUSES.get(code or "", code)


def last_error(record: OccurrenceRecord) -> str | None:
    """What the latest failed attempt raised, and where more is said of it; None when none has failed."""
    if record.last_error is None or record.last_error_ms is None:
        return record.last_error
    log = f"the log of worker {fleet_name(record.last_error_by)} at {to_rfc3339(record.last_error_ms)}"
    raised = f"{record.last_error} in attempt {record.last_error_attempt}"
    return f"{raised}; where it was raised is in {log}, its message is kept nowhere"


def audit_reason(reason: str) -> str:
    """What became of a tick."""
    return AUDIT.get(reason, reason)


def audit_brief(reason: str) -> str:
    """The same beside the outcome, in a few words; empty where the outcome says it all."""
    return _AUDIT_BRIEF.get(reason, reason)


def changed_by(event: ChangeEvent) -> str:
    """Who changed it: the person who was named, where one was, and what they came through."""
    named = event.detail.get("by")
    return f"{named}, through {event.actor}" if isinstance(named, str) and named else event.actor


def transition(event: RunEvent) -> str:
    """One transition of run history, in a few words."""
    if (event.event, event.reason) in _TRANSITIONS:
        return _TRANSITIONS[event.event, event.reason]
    if event.event == "late_result":
        return "late result: evidence only"
    what = "HELD" if event.event == "held" else event.event.replace("_", " ")
    if not event.reason:
        return what
    if event.event in _NAMES_AN_ERROR:
        return f"{what}: {event.reason}"
    plain = event.reason.removeprefix("HOLD_").lower() if event.reason.startswith("HOLD_") else event.reason
    return f"{what}: {plain.replace('_', ' ').replace('-', ' ')}"


def state(record: OccurrenceRecord, now_ms: int) -> str:
    """How an occurrence stands, in one sentence."""
    if record.state is OccurrenceState.PENDING:
        if record.awaits_approval:
            return f"waits until its reviewer, {record.review_owner}, approves it"
        return f"waits for a worker on queue '{record.queue}'"
    if record.state is OccurrenceState.LEASED:
        return f"claimed by {record.lease_owner}; the work has not begun"
    if record.state is OccurrenceState.RUNNING:
        began = "" if record.began_ms is None else f" for {duration(max(0, now_ms - record.began_ms))}"
        return f"{record.lease_owner} has been running it{began}"
    if record.state is OccurrenceState.RETRY_WAIT:
        return f"attempt {record.attempt} of {record.retry_budget} failed; waits for the next"
    if record.state is OccurrenceState.HELD:
        return f"held: {hold_reason(record.hold_reason)}"
    why = ENDS.get(record.reason or "", record.reason or "")
    return f"{_STATES[record.state]}: {why}" if why else _STATES[record.state]


def release(record: OccurrenceRecord, now_ms: int) -> str | None:
    """What ends the state the occurrence is in; None when it is over."""
    if record.awaits_approval:
        return f"its reviewer, {record.review_owner}: duly hold approve"
    if record.state is OccurrenceState.PENDING:
        return f"a worker that listens on queue '{record.queue}' and knows task '{record.task}'"
    if record.state is OccurrenceState.RETRY_WAIT:
        return f"its backoff ends {_when(record.not_before_ms, now_ms)}"
    if record.state is OccurrenceState.LEASED:
        return f"its worker; otherwise its lease ends {_when(record.lease_expires_ms, now_ms)} and it is pending again"
    if record.state is OccurrenceState.RUNNING:
        lost = "it is tried again" if record.effects in {"idempotent", "guarded"} else "it is held"
        return f"its worker; otherwise its lease ends {_when(record.lease_expires_ms, now_ms)} and {lost}"
    if record.state is OccurrenceState.HELD:
        return f"its reviewer, {record.review_owner}: duly hold resolve"
    return None


def _when(ms: int | None, now_ms: int) -> str:
    return "at an unknown instant" if ms is None else f"at {to_rfc3339(ms)} ({relative(ms, now_ms)})"
