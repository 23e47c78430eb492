"""`duly schedule delete`."""

from __future__ import annotations

import sys

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import revision_option, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.errors import Refused


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.option("--yes", is_flag=True, help="Do not ask, even on a terminal.")
@revision_option
@shared
@pass_app
def delete(app: App, schedule_id: str, yes: bool, revision: int | None) -> None:
    """Remove a schedule. Its audit trail, run history and holds stay readable."""
    from duly.common.cli.output import cell, stack

    seen, held = app.store.schedules.seen(schedule_id)
    question = f"Delete schedule '{schedule_id}'?"
    if not yes and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise Refused(f"schedule '{schedule_id}' was not deleted", code="not_confirmed")
    # What the person was asked about is what goes.
    app.store.schedules.delete(schedule_id, revision=seen if revision is None else revision)
    app.show(
        {"schedule_id": schedule_id, "deleted": True},
        lambda: stack(
            cell(f"deleted {schedule_id}; its record stays readable:"),
            cell(f"  duly events {schedule_id}"),
            cell(f"{_stay_open(held)}: duly holds") if held else None,
        ),
    )


def _stay_open(held: int) -> str:
    return "1 hold stays open" if held == 1 else f"{held} holds stay open"
