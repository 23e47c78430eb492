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
from duly.common.cli.schedule_ids import complete_ids
from duly.common.explain import trails, words
from duly.common.records.trail import ChangeEvent

DEFAULT_LIMIT = 30


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@paged(DEFAULT_LIMIT)
@shared
@pass_app
def changes(app: App, schedule_id: str, limit: int, cursor: str | None) -> None:
    """Who changed what of a schedule, newest first; also of one that was deleted."""
    page = trails.changes(app.store, schedule_id, limit, cursor)
    app.show(page.to_dict(), lambda: _draw(schedule_id, page))


def _draw(schedule_id: str, page: trails.Page[ChangeEvent]) -> RenderableType:
    if not page.records and page.next_cursor is None:
        return output.cell("no changes on record")
    more = output.more(page.next_cursor, "duly", "schedule", "changes", schedule_id)
    return output.stack(*_lines(page.records), more)


def _lines(events: Sequence[ChangeEvent]) -> Iterator[Text]:
    rows = [[moment(event.at_ms), event.what, str(event.revision or "-"), words.changed_by(event)] for event in events]
    width = output.console().width
    lines = Lines(["AT", "CHANGE", "REV", "BY"], rows, width=width, flexible=3)
    yield lines.heading()
    before = ""
    for event, row in zip(events, rows, strict=True):
        if (today := day(event.at_ms)) != before:
            before = today
            yield Text(f"{today} UTC", style="dim")
        yield lines.line(row)
        for each in _detail(event):
            yield from lines.below(each)


def _detail(event: ChangeEvent) -> Iterator[str]:
    """What belongs to the change, a line for each; who made it is said beside it."""
    if event.what == "updated":
        for name, each in event.detail.get("fields", {}).items():
            yield name if each is None else f"{name}: {each[0]} -> {each[1]}"
        return
    told = (f"{name} {value}" for name, value in event.detail.items() if name != "by" and value != "")
    yield ", ".join(told)
