"""`duly holds`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import DEFAULT_LIMIT, paged, shared
from duly.common.explain import cursors
from duly.common.explain.holds import told_hold, why_waiting
from duly.common.explain.words import cause, last_error
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.store.holds import Waiting


@click.command()
@click.option(
    "--kind", type=click.Choice([each.value for each in Waiting]), help="Only holds, or only runs to approve."
)
@paged(DEFAULT_LIMIT)
@shared
@pass_app
def holds(app: App, kind: str | None, limit: int, cursor: str | None) -> None:
    """What waits for a reviewer: holds, then runs to be approved; the longest waiting first."""
    inner = cursors.HOLDS.decode(cursor)
    page, after = app.store.holds.page(limit, inner or "", Waiting(kind) if kind else None)
    next_cursor = cursors.HOLDS.encode(after)
    more = output.more(next_cursor, "duly", "holds", *(["--kind", kind] if kind else []))
    orphaned = app.store.holds.orphaned(page)
    told = [told_hold(held, orphaned=held.occurrence in orphaned) for held in page]
    app.show({"holds": told, "next_cursor": next_cursor}, lambda: _draw(page, orphaned, more, app.now_ms()))


def _draw(
    page: Sequence[OccurrenceRecord], orphaned: Collection[Occurrence], more: RenderableType | None, now_ms: int
) -> RenderableType:
    if not page:
        return output.cell("nothing is held, and no run waits to be approved")
    parts: list[RenderableType] = []
    for held in page:
        described = output.facts(
            [
                ("to approve" if held.awaits_approval else "held", output.cell(str(held.occurrence), "bold")),
                ("tick", output.instant(held.occurrence.tick_ms, now_ms)),
                ("decision", held.hold_reason),
                ("why", why_waiting(held)),
                ("last error", last_error(held)),
                ("cause", cause(held.cause) if held.hold_reason else None),
                ("since", output.instant(held.held_ms or held.enqueued_ms, now_ms)),
                ("attempts", f"{held.attempt} of {held.retry_budget}"),
                ("reviewer", held.review_owner or "(nobody is named)"),
            ]
        )
        parts += [described, what_to_do(held, orphaned=held.occurrence in orphaned), ""]
    explained = "OUTCOME: no-committed-result (try again), committed (done), abandoned (give up)"
    any_held = any(not held.awaits_approval for held in page)
    return output.stack(*parts, output.cell(explained) if any_held else None, more)


def what_to_do(record: OccurrenceRecord, *, orphaned: bool) -> RenderableType:
    """The command that resolves a hold or approves a run, to copy and complete.

    ``orphaned``: its schedule was deleted, and nothing of it is attempted again.
    """
    where = [record.occurrence.schedule_id, str(record.occurrence.tick_ms)]
    if record.awaits_approval:
        return output.command("duly", "hold", "approve", *where, f"--by {shlex.quote(record.review_owner)}")
    if orphaned:
        said = "its schedule was deleted, so that no attempt follows; with OUTCOME committed or abandoned:"
        return output.stack(output.cell(said), _resolve(record, "--outcome OUTCOME"))
    if record.attempt < record.retry_budget:
        return _resolve(record, "--outcome OUTCOME")
    return output.stack(
        output.cell("its budget is spent; to allow one more attempt:"),
        _resolve(record, "--outcome no-committed-result", "--extra-attempts 1"),
        output.cell("otherwise, with OUTCOME committed or abandoned:"),
        _resolve(record, "--outcome OUTCOME"),
    )


def _resolve(record: OccurrenceRecord, *outcome: str) -> RenderableType:
    where = [record.occurrence.schedule_id, str(record.occurrence.tick_ms)]
    seen = f"--seen {record.version}"
    return output.command("duly", "hold", "resolve", *where, seen, *outcome, "--by NAME", "--evidence REF")
