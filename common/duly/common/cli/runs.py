"""`duly runs`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import paged, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.cli.trail import RunLines
from duly.common.explain import trails
from duly.common.records.trail import RunEvent
from duly.common.store import Store

_START = "0-0"


@click.command()
@click.argument("schedule_id", metavar="[ID]", required=False, shell_complete=complete_ids)
@click.option("--follow", "-f", is_flag=True, help="Show the latest, then each one as it comes, until Ctrl+C.")
@paged(30)
@shared
@pass_app
def runs(app: App, schedule_id: str | None, follow: bool, limit: int, cursor: str | None) -> None:
    """Run history of one schedule, or of the whole fleet: every transition of attempts, newest first.

    Times are UTC. What became of ticks that were not enqueued is in `duly events`.
    """
    if follow and cursor is not None:
        raise click.UsageError("--follow starts at the newest records; leave --cursor out.")
    page = trails.runs(app.store, schedule_id, limit, cursor)
    if follow:
        _follow(app.store, schedule_id, page.records, as_json=app.json)
    app.show(page.to_dict(), lambda: _draw(schedule_id, page))


def _follow(store: Store, schedule_id: str | None, newest_first: Sequence[RunEvent], *, as_json: bool) -> None:
    events = list(reversed(newest_first))
    cursor = events[-1].cursor if events else _START
    lines = RunLines(events, hidden=_hidden(schedule_id), follow=True)
    if not as_json:
        output.write(lines.heading())
    while True:
        if as_json:
            for event in events:
                click.echo(json.dumps(event.to_dict()))
        else:
            for line in lines.of(events):
                output.write(line)
        events, cursor = store.trails.runs_after(cursor, schedule_id)


def _draw(schedule_id: str | None, page: trails.Page[RunEvent]) -> RenderableType:
    if not page.records and page.next_cursor is None:
        return output.cell("no runs yet")
    lines = RunLines(page.records, hidden=_hidden(schedule_id))
    words = ["duly", "runs", *([schedule_id] if schedule_id else [])]
    return output.stack(lines.heading(), *lines.of(page.records), output.more(page.next_cursor, *words))


def _hidden(schedule_id: str | None) -> Sequence[str]:
    return ["SCHEDULE"] if schedule_id else []
