"""`duly events`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import cursors, output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import paged, shared
from duly.common.cli.trail import check_known, event_lines
from duly.common.records.trail import EnqueueEvent


@click.command()
@click.argument("schedule_id", metavar="ID")
@paged(30)
@shared
@pass_app
def events(app: App, schedule_id: str, limit: int, cursor: str | None) -> None:
    """What became of each tick of a schedule, newest first; also of one that was deleted.

    Times are UTC. What became of the attempts at a tick that was enqueued is in `duly runs`.
    """
    inner = cursors.decode(cursor, cursors.STREAM)
    check_known(app.store, schedule_id)
    page, after = app.store.trails.events(schedule_id, limit, inner)
    next_cursor = cursors.encode(after)
    app.show(
        {"events": [event.to_dict() for event in page], "next_cursor": next_cursor},
        lambda: _draw(schedule_id, page, next_cursor),
    )


def _draw(schedule_id: str, page: Sequence[EnqueueEvent], next_cursor: str | None) -> RenderableType:
    if not page:
        return output.cell("no events yet: no tick of this schedule has come due")
    return output.stack(*event_lines(page), output.more(next_cursor, "duly", "events", schedule_id))
