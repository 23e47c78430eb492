"""Tasks of the example fleet; put your own in their place."""

from __future__ import annotations

import logging

from duly.worker import current_run, task

log = logging.getLogger("tasks")


@task("example.hello", effects="idempotent")
def hello(name: str = "world") -> None:
    """Greet somebody: harmless when it happens again, hence `idempotent`."""
    run = current_run()
    log.warning("hello %s, for %s at %s, attempt %d", name, run.schedule_id, run.tick.isoformat(), run.attempt)
    run.set_result_ref(f"greeted:{name}")
