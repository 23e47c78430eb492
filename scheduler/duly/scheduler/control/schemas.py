"""What the API takes and gives, as the OpenAPI document says it. Tests hold every reply against these.

Schedules themselves are described by `ScheduleDefinition`, and read by `define`, as everywhere.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from duly.common.identity import LAST_TICK_MS, SCHEDULE_ID
from duly.common.records.definition import Backoff
from duly.common.records.occurrence import OccurrenceState

ID_PATTERN = f"^{SCHEDULE_ID.pattern}$"


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class FaultBody(_Exact):
    field: str
    message: str


class ProblemBody(_Exact):
    """An RFC 9457 problem. ``code`` is stable, and says what is wrong; ``errors`` names fields."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    code: str
    errors: list[FaultBody] = Field(default_factory=list)


class Schedule(_Exact):
    """A schedule: what its owner said of it, and what the store keeps."""

    schedule_id: str = Field(pattern=ID_PATTERN)
    spec: str
    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    queue: str
    missed_run_policy: Literal["skip", "run_once", "backfill"]
    backfill_limit: int | None
    max_lateness_ms: int | None
    jitter_window_ms: int
    overlap: Literal["skip", "buffer_one", "allow"]
    lease_ttl_ms: int
    timeout_ms: int
    retry_budget: int
    backoff: Backoff
    review_owner: str
    approval: Literal["automatic", "required"]
    start_at: str | None
    end_at: str | None
    state: Literal["active", "paused", "quarantined"]
    note: str
    paused_until: str | None
    revision: int
    schedule_type: Literal["calendar", "interval"]
    timezone: str
    next_run_at: str | None
    next_run_ms: int | None
    last_run_at: str | None
    last_outcome: str | None
    held: int
    created_at: str
    updated_at: str


class TickSpan(_Exact):
    count: int
    first_tick_ms: int
    first_tick_at: str
    last_tick_ms: int
    last_tick_at: str


class EditReport(_Exact):
    """What an edit did. ``carried``: due ticks that still run as they were; ``dropped``: ticks passed over."""

    dry_run: bool
    next_run_before_ms: int | None
    next_run_before_at: str | None
    next_run_ms: int | None
    next_run_at: str | None
    carried: TickSpan | None
    dropped: TickSpan | None


class EditedSchedule(Schedule):
    edit: EditReport


class ReleasedSchedule(Schedule):
    catch_up_tick_ms: int | None
    """The tick that runs after all; null when none was missed or none was asked for."""


class SchedulePage(_Exact):
    schedules: list[Schedule]
    next_cursor: str | None


class Pausing(_Exact):
    """``until``: resume by itself at this instant, RFC 3339."""

    note: str = Field(min_length=1, max_length=500)
    until: str | None = None


class CatchUp(_Exact):
    """Whether to run the latest tick that was missed."""

    catch_up: Literal["latest", "none"] = "none"


class RunAccepted(_Exact):
    schedule_id: str
    tick_ms: int
    job_id: str
    replayed: bool


class Tick(_Exact):
    tick_ms: int
    utc: str
    local: str


class Preview(_Exact):
    spec: str
    timezone: str
    ticks: list[Tick]


class PreviewRequest(_Exact):
    """``after``: RFC 3339; now when it is left out."""

    spec: str = Field(max_length=1_000)
    after: str | None = None
    count: int = Field(10, ge=1, le=1_000)


class EnqueueEventBody(_Exact):
    tick_ms: int
    tick_at: str
    outcome: Literal["enqueued", "deduplicated", "skipped", "failed"]
    reason: str
    job_id: str | None
    count: int
    first_tick_ms: int
    last_tick_ms: int
    recorded_at: str


class EventPage(_Exact):
    events: list[EnqueueEventBody]
    next_cursor: str | None


class RunEventBody(_Exact):
    event: str
    schedule_id: str
    tick_ms: int
    tick_at: str
    state: OccurrenceState = Field(strict=False)
    attempt: int
    worker: str | None
    fencing_token: int | None
    reason: str | None
    decision: str | None
    at: str
    at_ms: int


class RunPage(_Exact):
    runs: list[RunEventBody]
    next_cursor: str | None


class ChangeBody(_Exact):
    what: str
    actor: str
    revision: int | None
    detail: dict[str, Any]
    at: str
    at_ms: int


class ChangePage(_Exact):
    changes: list[ChangeBody]
    next_cursor: str | None


class VerdictBody(_Exact):
    decision: str
    runs: bool
    holds: list[str]
    blocking_fields: list[str]
    explanation: str
    review_owner: str | None


class Explanation(_Exact):
    """Why an occurrence ran, did not run, or waits: the eighteen fields, and the decision that they allow."""

    model_config = ConfigDict(extra="allow", strict=True)

    schedule_id: str
    tick_ms: int
    tick_at: str
    on_record: bool
    """Whether the occurrence has a record; its fields are then here too, as in a list of holds."""
    explanation: str
    decision: VerdictBody | None
    evidence: dict[str, Any] | None
    observed: dict[str, Any] | None
    timeline: list[RunEventBody]


class Hold(_Exact):
    """What waits for a reviewer. ``version`` is what a resolution gives as ``seen``."""

    model_config = ConfigDict(extra="allow", strict=True)

    schedule_id: str
    tick_ms: int
    tick_at: str
    state: OccurrenceState = Field(strict=False)
    attempt: int
    retry_budget: int
    review_owner: str
    reason: str | None
    schedule_deleted: bool
    """Whether its schedule is gone: then no attempt follows, whatever a resolution says."""
    version: int
    decision: VerdictBody | None


class HoldPage(_Exact):
    holds: list[Hold]
    next_cursor: str | None


class Resolving(_Exact):
    """``seen``: the version that was looked at; ``extra_attempts`` goes with no-committed-result."""

    outcome: Literal["no-committed-result", "committed", "abandoned"]
    by: str = Field(min_length=1, max_length=200)
    evidence: str = Field(min_length=1, max_length=500)
    extra_attempts: int = Field(0, ge=0, le=100)
    seen: int | None = Field(None, ge=0, le=2**53)
    catch_up: Literal["latest", "none"] = "none"


class Resolved(_Exact):
    schedule_id: str
    tick_ms: int
    state: OccurrenceState = Field(strict=False)
    replayed: bool
    catch_up_tick_ms: int | None
    catch_up: str | None
    """What came of the catch-up, in words; null when none was asked for."""


class Approving(_Exact):
    by: str = Field(min_length=1, max_length=200)


class Approved(_Exact):
    schedule_id: str
    tick_ms: int
    approved_by: str
    replayed: bool


class PeriodicOrigin(_Exact):
    schedule_id: str = Field(pattern=ID_PATTERN)
    tick_ms: int = Field(ge=0, le=LAST_TICK_MS)


class Job(_Exact):
    """An RQ job; never what it is called with. ``status`` is null when RQ has forgotten the job."""

    job_id: str
    status: str | None
    queue: str | None
    created_at: str | None
    enqueued_at: str | None
    started_at: str | None
    ended_at: str | None
    kind: Literal["scheduled", "manual"] | None
    """Null for an ordinary RQ job."""
    occurrence: PeriodicOrigin | None
    """The occurrence that it attempts."""
    periodic_origin: PeriodicOrigin | None
    """The same for a job that the scheduler made; null for extra runs and ordinary jobs."""


class Duty(_Exact):
    holder: str | None
    fence: int | None
    since: str | None
    expires_in_ms: int | None


class Process(_Exact):
    """A process of the fleet, and what it says of itself."""

    model_config = ConfigDict(extra="allow", strict=True)

    name: str
    seen_at: str
    seen_ms_ago: int


class Queue(_Exact):
    name: str
    length: int


class Fleet(_Exact):
    now: str
    duty: Duty
    workers: list[Process]
    queues: list[Queue]
    schedules: int
    holds: int
    approvals: int
    """Runs that wait for their reviewer."""
    failing: int
    """Schedules whose due tick could not be enqueued, and is still due."""
    lag_ms: int
    """How long the most overdue schedule has been due."""


class Health(_Exact):
    status: Literal["ok"]
    store: Literal["ok"]
