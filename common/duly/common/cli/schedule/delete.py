"""`duly schedule delete`."""

from __future__ import annotations

import sys

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import revision_option, shared
from duly.common.errors import Refused


@click.command()
@click.argument("schedule_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask, even on a terminal.")
@revision_option
@shared
@pass_app
def delete(app: App, schedule_id: str, yes: bool, revision: int | None) -> None:
    """Remove a schedule. Its audit trail, run history and holds stay readable."""
    from duly.common.cli.output import cell

    record = app.store.schedules.get(schedule_id)
    question = f"Delete schedule '{schedule_id}'?"
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise Refused(f"schedule '{schedule_id}' was not deleted", code="not_confirmed")
    # What the person was asked about is what goes.
    app.store.schedules.delete(schedule_id, revision=record.revision if revision is None else revision)
    app.show(
        {"schedule_id": schedule_id, "deleted": True},
        lambda: cell(f"deleted {schedule_id}; its record stays readable: duly events {schedule_id}"),
    )
