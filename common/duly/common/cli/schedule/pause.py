"""`duly schedule pause`."""

from __future__ import annotations

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import read_note, revision_option, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.instant import to_ms


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.option("--note", required=True, metavar="TEXT", help="Why; shown wherever the schedule is. Required.")
@click.option("--until", metavar="T", help="Resume by itself at this instant; RFC 3339.")
@revision_option
@shared
@pass_app
def pause(app: App, schedule_id: str, note: str, until: str | None, revision: int | None) -> None:
    """Stop the ticks of a schedule from being due, until it is resumed or until an instant."""
    from duly.common.cli.schedule.drawing import draw_paused

    until_ms = None if until is None else to_ms(until, "until")
    record = app.store.schedules.pause(schedule_id, read_note(note), until_ms, revision=revision)
    app.show(record.to_dict(), lambda: draw_paused(record, app.now_ms()))
