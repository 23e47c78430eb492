"""`duly schedule resume`."""

from __future__ import annotations

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import revision_option, shared
from duly.common.cli.schedule_ids import complete_ids


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.option(
    "--catch-up",
    type=click.Choice(["latest", "none"]),
    default="none",
    show_default=True,
    help="Whether to run the latest tick that was missed.",
)
@revision_option
@shared
@pass_app
def resume(app: App, schedule_id: str, catch_up: str, revision: int | None) -> None:
    """End a pause. The ticks passed over go on record."""
    from duly.common.cli.schedule.drawing import draw_resumed
    from duly.common.explain.edits import told_edit

    edit = app.store.schedules.resume(schedule_id, catch_up, revision=revision)
    app.show(told_edit(edit), lambda: draw_resumed(edit, app.now_ms()))
