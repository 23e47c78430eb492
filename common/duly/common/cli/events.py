"""`duly events`."""

from __future__ import annotations

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import paged, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.cli.trail import event_lines
from duly.common.explain import trails
from duly.common.explain.drops import drop_causes
from duly.common.records.trail import EnqueueEvent
from duly.common.store import Store


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@paged(30)
@shared
@pass_app
def events(app: App, schedule_id: str, limit: int, cursor: str | None) -> None:
    """What became of each tick of a schedule, newest first; also of one that was deleted.

    Times are UTC. What became of the attempts at a tick that was enqueued is in `duly runs`.
    """
    page = trails.events(app.store, schedule_id, limit, cursor)
    app.show(page.to_dict(), lambda: _draw(app.store, schedule_id, page))


def _draw(store: Store, schedule_id: str, page: trails.Page[EnqueueEvent]) -> RenderableType:
    if not page.records and page.next_cursor is None:
        return output.cell(f"no events yet: {_why_none(store)}")
    causes = drop_causes(store, schedule_id, page.records)
    return output.stack(
        *event_lines(page.records, causes), output.more(page.next_cursor, "duly", "events", schedule_id)
    )


def _why_none(store: Store) -> str:
    fleet = store.fleet.snapshot()
    if fleet["lag_ms"] and not fleet["duty"]["holder"]:
        return "ticks are overdue, and nobody holds the duty: start a worker or 'duly scheduler'"
    return "no tick of this schedule has come due"
