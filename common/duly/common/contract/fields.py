"""The fields of a case file, in the order in which people read them: reading, writing and the schema follow this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from duly.common.expression import MAX_SPEC_LENGTH

from . import case, kinds
from .kinds import Kind

JOB_ID_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in the file, the attribute of `Case`, its kind, and what it means."""

    name: str
    attribute: str
    kind: Kind
    title: str
    description: str


EVIDENCE: Final = (
    Field(
        "job_id",
        "job_id",
        kinds.text(rf"^{JOB_ID_PATTERN}$", 128),
        "Job",
        "Which schedule this is: its id.",
    ),
    Field(
        "schedule_type",
        "schedule_type",
        kinds.word(case.CALENDAR, case.INTERVAL),
        "Type of schedule",
        "Whether ticks follow a wall clock or a period; it must be what the expression is.",
    ),
    Field(
        "schedule_expression",
        "schedule_expression",
        kinds.text(longest=MAX_SPEC_LENGTH),
        "Expression",
        "`@every:<ms>`, or cron with 5 or 6 fields, read in `timezone`; CRON_TZ, when given, must name the same zone.",
    ),
    Field(
        "timezone",
        "timezone",
        kinds.text(),
        "Time zone",
        "The IANA zone whose wall clock a calendar expression reads.",
    ),
    Field(
        "last_run_at",
        "last_run_ms",
        kinds.INSTANT.or_null(),
        "Last run",
        "The tick of the last occurrence that finished before this one; null when none ever has.",
    ),
    Field(
        "next_run_at",
        "next_run_ms",
        kinds.INSTANT,
        "Next run",
        "The tick the schedule stands at: this occurrence or a later one.",
    ),
    Field(
        "missed_run_policy",
        "missed_run_policy",
        kinds.word(*case.POLICIES, case.UNKNOWN),
        "Missed-run policy",
        "What becomes of ticks nobody was there for. SINGLE_BOUNDED_CATCH_UP is for calendars, COALESCE_STALE_TICKS "
        "for intervals, SKIP and BACKFILL_BOUNDED for both; UNKNOWN holds.",
    ),
    Field(
        "jitter_window",
        "jitter_window_ms",
        kinds.DURATION,
        "Jitter window",
        "Milliseconds by which an occurrence may be released after its tick.",
    ),
    Field(
        "lease_id",
        "lease_id",
        kinds.text().or_null(),
        "Lease",
        "The lease on record; null when there is none.",
    ),
    Field(
        "lease_owner",
        "lease_owner",
        kinds.text().or_null(),
        "Lease owner",
        "The worker the lease on record belongs to; null when there is none.",
    ),
    Field(
        "lease_expires_at",
        "lease_expires_ms",
        kinds.INSTANT.or_null(),
        "Lease end",
        "From this instant on the lease on record has expired; null when there is none.",
    ),
    Field(
        "idempotency_key",
        "idempotency_key",
        kinds.text(rf"^{JOB_ID_PATTERN}@\d+:[0-9a-f]{{16}}$"),
        "Idempotency key",
        "`<job_id>@<occurrence in epoch ms>:<16 hex digits over the work>`: the same for each attempt and delivery.",
    ),
    Field(
        "attempt",
        "attempt",
        kinds.NUMBER,
        "Attempt",
        "The attempt about to be made, from 1.",
    ),
    Field(
        "retry_budget",
        "retry_budget",
        kinds.NUMBER,
        "Retry budget",
        "Attempts in all.",
    ),
    Field(
        "backoff_state",
        "backoff_state",
        kinds.BACKOFF.or_null(),
        "Backoff",
        "How long the attempt before asked to wait and until when; null before a first attempt.",
    ),
    Field(
        "run_state",
        "run_state",
        kinds.word(*case.RUN_STATES),
        "Run state",
        "The state of the occurrence on record.",
    ),
    Field(
        "result_ref",
        "result_ref",
        kinds.text().or_null(),
        "Result",
        "Where the committed result is; null when there is none.",
    ),
    Field(
        "review_owner",
        "review_owner",
        kinds.text(),
        "Review owner",
        "Who answers for holds.",
    ),
)

OBSERVED: Final = (
    Field(
        "now",
        "now_ms",
        kinds.INSTANT,
        "Now",
        "The instant at which the evidence was read, by the clock of the store.",
    ),
    Field(
        "occurrence",
        "occurrence_ms",
        kinds.INSTANT,
        "Occurrence",
        "The due tick that is to be decided about.",
    ),
    Field(
        "prior_outcome",
        "prior_outcome",
        kinds.word(case.NONE, case.COMMITTED, case.NO_COMMITTED_RESULT, case.UNKNOWN),
        "Prior outcome",
        "What is known of earlier attempts at this occurrence and of the occurrence before it.",
    ),
    Field(
        "lease_claims",
        "lease_claims",
        kinds.CLAIMS,
        "Lease claims",
        "Every lease that was seen to claim this occurrence.",
    ),
    Field(
        "applied_jitter_ms",
        "applied_jitter_ms",
        kinds.OFFSET,
        "Applied jitter",
        "How many milliseconds after its tick the occurrence was released.",
    ),
)

OPTIONAL: Final = (
    Field(
        "trigger",
        "trigger",
        kinds.word(case.TIMETABLE, case.MANUAL),
        "Trigger",
        "`timetable` (the default), or `manual` for an extra run that a person asked for: it need not be a tick, and "
        "no later tick makes it stale.",
    ),
    Field(
        "later_tick",
        "later_tick_ms",
        kinds.INSTANT.or_null(),
        "Later tick",
        "The tick after this occurrence that is due, as the schedule itself knows it (bounds, pauses and edits make "
        "the expression say too much); null when there is none. Left out: the expression says.",
    ),
)

ALL: Final = (*EVIDENCE, *OBSERVED, *OPTIONAL)
