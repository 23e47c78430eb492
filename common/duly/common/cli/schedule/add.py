"""`duly schedule add`."""

from __future__ import annotations

from typing import Any

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule.fields import check_required, definition_options, given_fields
from duly.common.cli.schedule.known import say_unknown


@click.command()
@click.argument("schedule_id", metavar="ID")
@definition_options
@shared
@pass_app
def add(app: App, /, schedule_id: str, **options: Any) -> None:
    """Write a new schedule. Its first tick is the first after now."""
    from duly.common.cli.schedule.drawing import draw_added
    from duly.common.records.definition import define

    given = given_fields(options).complete()
    check_required(given)
    definition = define({"schedule_id": schedule_id, **given})
    record = app.store.schedules.add(definition)
    app.show(record.to_dict(), lambda: draw_added(record, app.now_ms()))
    say_unknown(app, definition)
