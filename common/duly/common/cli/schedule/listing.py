"""`duly schedule list`."""

from __future__ import annotations

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import DEFAULT_LIMIT, paged, shared
from duly.common.cli.schedule.drawing import draw_list
from duly.common.explain import cursors


@click.command("list")
@paged(DEFAULT_LIMIT)
@shared
@pass_app
def listing(app: App, limit: int, cursor: str | None) -> None:
    """All schedules, in order of their ids."""
    after = cursors.SCHEDULES.decode(cursor)
    records, next_after = app.store.schedules.page(limit, after or "")
    next_cursor = cursors.SCHEDULES.encode(next_after)
    app.show(
        {"schedules": [record.to_dict() for record in records], "next_cursor": next_cursor},
        lambda: draw_list(records, next_cursor, app.now_ms()),
    )
