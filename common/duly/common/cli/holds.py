"""`duly holds`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import cursors, output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import DEFAULT_LIMIT, paged, shared
from duly.common.cli.words import hold_reason
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceRecord


@click.command()
@paged(DEFAULT_LIMIT)
@shared
@pass_app
def holds(app: App, limit: int, cursor: str | None) -> None:
    """What waits for a reviewer, the longest held first."""
    offset = cursors.decode(cursor, cursors.OFFSET)
    page, after = app.store.holds.page(limit, int(offset or 0))
    next_cursor = cursors.encode(after)
    app.show(
        {"holds": [{**held.to_dict(), "reason": held.hold_reason} for held in page], "next_cursor": next_cursor},
        lambda: _draw(page, next_cursor, app.now_ms()),
    )


def _draw(page: Sequence[OccurrenceRecord], next_cursor: str | None, now_ms: int) -> RenderableType:
    if not page:
        return output.cell("nothing is held")
    parts: list[RenderableType] = []
    for held in page:
        described = output.facts(
            [
                ("held", output.cell(str(held.occurrence), "bold")),
                ("tick", output.instant(held.occurrence.tick_ms, now_ms)),
                ("why", hold_reason(held.hold_reason)),
                ("since", output.instant(held.held_ms, now_ms)),
                ("attempts", f"{held.attempt} of {held.retry_budget}"),
                ("reviewer", held.review_owner),
            ]
        )
        parts += [described, how_to_resolve(held.occurrence), ""]
    explained = output.cell("OUTCOME: no-committed-result (try again), committed (it is done), abandoned (give up)")
    return output.stack(*parts, explained, output.more(next_cursor, "duly", "holds"))


def how_to_resolve(occurrence: Occurrence) -> RenderableType:
    """The command that resolves a hold, to copy and complete."""
    words = ["duly", "hold", "resolve", occurrence.schedule_id, str(occurrence.tick_ms)]
    return output.command(*words, "--outcome OUTCOME", "--by NAME", "--evidence REF")
