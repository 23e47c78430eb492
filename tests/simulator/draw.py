"""Random schedules, and random changes to them."""

from __future__ import annotations

import random
from typing import Any

from duly.common.records.definition import ScheduleDefinition, define

TASKS = ("sim.idempotent", "sim.guarded", "sim.unsafe")
SPECS = (
    "@every:150", "@every:300", "@every:500", "@every:700", "@every:1000", "@every:1500", "@every:2000",
    "*/1 * * * * *", "*/2 * * * * ?", "0,1,3 * * * * *", "CRON_TZ=America/New_York */2 * * * * *",
)  # fmt: skip


def draw_definition(rng: random.Random, schedule_id: str) -> ScheduleDefinition:
    """A schedule with short times: everything that may happen to it fits into some seconds."""
    policy = rng.choice(["skip", "run_once", "run_once", "backfill"])
    return define(
        {
            "schedule_id": schedule_id,
            "spec": rng.choice(SPECS),
            "task": rng.choice(TASKS),
            "missed_run_policy": policy,
            "backfill_limit": rng.randint(1, 5) if policy == "backfill" else None,
            "overlap": rng.choice(["skip", "buffer_one", "allow"]),
            "max_lateness_ms": rng.choice([None, None, None, 300, 1500]),
            "jitter_window_ms": rng.choice([0, 0, 0, 50, 120]),
            "lease_ttl_ms": rng.choice([1_000, 1_000, 3_000]),
            "timeout_ms": rng.choice([300, 3_000, 5_000]),
            "retry_budget": rng.randint(1, 3),
            "backoff": {"base_ms": rng.choice([0, 0, 50, 400]), "factor": 2, "max_ms": 600},
            "review_owner": "ann",
            "approval": rng.choice(["automatic"] * 5 + ["required"]),
        }
    )


def draw_changes(rng: random.Random, definition: ScheduleDefinition) -> dict[str, Any]:
    """Some fields of another schedule; a change of its type brings all that must be restated."""
    other = draw_definition(rng, definition.schedule_id).model_dump(mode="json")
    groups = [
        ("spec", "missed_run_policy", "backfill_limit", "jitter_window_ms", "lease_ttl_ms", "retry_budget", "backoff"),
        ("missed_run_policy", "backfill_limit"),
        ("overlap",),
        ("task",),
        ("retry_budget", "backoff"),
        ("max_lateness_ms",),
        ("approval",),
    ]
    return {name: other[name] for name in rng.choice(groups[:1] * 3 + groups)}
