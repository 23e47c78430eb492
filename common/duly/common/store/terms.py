"""What the scripts need of a schedule's definition, beside the schedule (`lua/lib/terms.lua`)."""

from __future__ import annotations

from duly.common.identity import canonical_json
from duly.common.records.definition import ScheduleDefinition
from duly.common.records.evidence import model_of

BUFFERED_TICKS = 20
"""Ticks that may wait behind a running occurrence under `buffer_one` before the newest coalesces the older ones."""


def terms_of(definition: ScheduleDefinition) -> str:
    """The text that the schedule's hash keeps of it, where the scripts find it by themselves.

    The digest of its work, a space, and as JSON what other schedules may have as well (`lua/lib/terms.lua`). ``fields``
    is what each occurrence keeps; numbers in it are text, as everywhere in a hash.
    """
    fields: dict[str, object] = {
        "coalesces": "1" if definition.policy.coalesces else "0",
        "overlap": definition.overlap,
        "lease_ttl_ms": definition.lease_ttl_ms,
        "retry_budget": definition.retry_budget,
        "backoff_base_ms": definition.backoff.base_ms,
        "backoff_factor": definition.backoff.factor,
        "backoff_max_ms": definition.backoff.max_ms,
        "review_owner": definition.review_owner,
        "task": definition.task,
        "queue": definition.queue,
        "model": canonical_json(model_of(definition)),
    }
    if definition.max_lateness_ms is not None:
        fields["max_lateness_ms"] = definition.max_lateness_ms
    if definition.approval == "required":
        fields["approval"] = definition.approval
    shared = {
        "fields": [part for name, value in fields.items() for part in (name, str(value))],
        "coalesces": definition.policy.coalesces,
        "overlap": definition.overlap,
        "buffer": definition.backfill_limit or BUFFERED_TICKS,
        "queue": definition.queue,
    }
    return f"{definition.digest} {canonical_json(shared)}"
