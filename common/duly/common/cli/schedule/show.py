"""`duly schedule show`."""

from __future__ import annotations

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule.drawing import draw_schedule
from duly.common.cli.schedule_ids import complete_ids
from duly.common.explain.workers import unknown


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@shared
@pass_app
def show(app: App, schedule_id: str) -> None:
    """One schedule and where it stands."""
    record = app.store.schedules.get(schedule_id)
    app.show(record.to_dict(), lambda: draw_schedule(record, app.now_ms(), unknown(app.store, record.definition)))
