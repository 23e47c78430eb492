"""`duly schedule changes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import paged, shared
from duly.common.cli.record_lines import Lines, day, moment
from duly.common.explain import trails
from duly.common.records.trail import ChangeEvent

DEFAULT_LIMIT = 30


@click.command()
@click.argument("schedule_id", metavar="ID")
@paged(DEFAULT_LIMIT)
@shared
@pass_app
def changes(app: App, schedule_id: str, limit: int, cursor: str | None) -> None:
    """Who changed what of a schedule, newest first; also of one that was deleted."""
    page = trails.changes(app.store, schedule_id, limit, cursor)
    app.show(page.to_dict(), lambda: _draw(schedule_id, page))


def _draw(schedule_id: str, page: trails.Page[ChangeEvent]) -> RenderableType:
    if not page.records:
        return output.cell("no changes on record")
    more = output.more(page.next_cursor, "duly", "schedule", "changes", schedule_id)
    return output.stack(*_lines(page.records), more)


def _lines(events: Sequence[ChangeEvent]) -> Iterator[Text]:
    rows = [
        [moment(event.at_ms), event.what, str(event.revision or "-"), _detail(event), event.actor] for event in events
    ]
    lines = Lines(
        ["AT", "CHANGE", "REV", "DETAIL", "BY"], rows, width=output.console().width, flexible=3, shrinkable=[4]
    )
    yield lines.heading()
    before = ""
    for event, row in zip(events, rows, strict=True):
        if (today := day(event.at_ms)) != before:
            before = today
            yield Text(f"{today} UTC", style="dim")
        yield lines.line(row)


def _detail(event: ChangeEvent) -> str:
    """What belongs to the change, in one line."""
    if event.what == "updated":
        fields = event.detail.get("fields", {})
        return ", ".join(name if each is None else f"{name}: {each[0]} -> {each[1]}" for name, each in fields.items())
    return ", ".join(f"{name} {value}" for name, value in event.detail.items() if value != "")
