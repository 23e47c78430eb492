"""`duly runs`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import cursors, output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import paged, shared
from duly.common.cli.text import safe
from duly.common.cli.trail import check_known, what_happened
from duly.common.instant import to_rfc3339
from duly.common.records.trail import RunEvent
from duly.common.store import Store

_START = "0-0"


@click.command()
@click.argument("schedule_id", metavar="[ID]", required=False)
@click.option("--follow", "-f", is_flag=True, help="Show the latest, then each one as it comes, until Ctrl+C.")
@paged(30)
@shared
@pass_app
def runs(app: App, schedule_id: str | None, follow: bool, limit: int, cursor: str | None) -> None:
    """Run history of one schedule, or of the whole fleet: every transition, newest first."""
    inner = cursors.decode(cursor, cursors.STREAM)
    if follow and cursor is not None:
        raise click.UsageError("--follow starts at the newest records; leave --cursor out.")
    if schedule_id is not None:
        check_known(app.store, schedule_id)
    page, after = app.store.trails.runs(schedule_id, limit, inner)
    if follow:
        _follow(app.store, schedule_id, page, as_json=app.json)
    next_cursor = cursors.encode(after)
    app.show(
        {"runs": [event.to_dict() for event in page], "next_cursor": next_cursor},
        lambda: _draw(schedule_id, page, next_cursor),
    )


def _follow(store: Store, schedule_id: str | None, newest_first: Sequence[RunEvent], *, as_json: bool) -> None:
    events, cursor = list(reversed(newest_first)), _START
    while True:
        for event in events:
            click.echo(json.dumps(event.to_dict()) if as_json else _line(event))
            cursor = event.cursor
        events = store.trails.runs_after(cursor, schedule_id)


def _line(event: RunEvent) -> str:
    occurrence = f"{event.schedule_id}@{event.tick_ms}"
    said = f"{to_rfc3339(event.at_ms)} {occurrence} {event.state} attempt {event.attempt} {what_happened(event)}"
    return safe(said if event.worker is None else f"{said} ({event.worker})")


def _draw(schedule_id: str | None, page: Sequence[RunEvent], next_cursor: str | None) -> RenderableType:
    if not page:
        return output.cell("no runs yet")
    rows = [
        (
            output.stamp(event.at_ms),
            output.lines(None if schedule_id else event.schedule_id, to_rfc3339(event.tick_ms)),
            output.lines(event.state, what_happened(event)),
            event.attempt,
            event.worker,
        )
        for event in page
    ]
    listed = output.table(
        "AT", "TICK" if schedule_id else "SCHEDULE, TICK", "STATE, EVENT", "TRY", "WORKER", rows=rows, whole="TICK"
    )
    words = ["duly", "runs", *([schedule_id] if schedule_id else [])]
    return output.stack(listed, output.more(next_cursor, *words))
