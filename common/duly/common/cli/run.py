"""`duly run`."""

from __future__ import annotations

import click

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule_ids import complete_ids


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.option("--idempotency-key", required=True, metavar="K", help="The same key gives the same run. Required.")
@shared
@pass_app
def run(app: App, schedule_id: str, idempotency_key: str) -> None:
    """Enqueue one extra run now. The next run stays as it is; a hold or a pause is never passed by."""
    made = app.store.manual.run(schedule_id, idempotency_key)
    tick_ms = made.occurrence.tick_ms
    app.show(
        {"job_id": made.job_id, "schedule_id": schedule_id, "tick_ms": tick_ms, "replayed": made.replayed},
        lambda: output.stack(
            output.facts(
                [
                    ("replayed" if made.replayed else "enqueued", str(made.occurrence)),
                    ("job", made.job_id),
                    ("note", "this key was used before: it is the same run" if made.replayed else None),
                ]
            ),
            "follow it with:",
            output.command("duly", "occurrence", schedule_id, str(tick_ms)),
        ),
    )
