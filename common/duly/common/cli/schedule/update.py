"""`duly schedule update`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import revision_option, shared
from duly.common.cli.schedule.drawing import draw_edit
from duly.common.cli.schedule.fields import change_options, given_fields
from duly.common.cli.schedule.known import say_unknown
from duly.common.cli.schedule_ids import complete_ids
from duly.common.errors import RevisionConflict
from duly.common.explain.edits import told_edit

if TYPE_CHECKING:
    from duly.common.records.schedule import ScheduleRecord
    from duly.common.store import Store
    from duly.common.store.schedules import Edit

_CLEARING = {"no_max_lateness": "max_lateness_ms", "no_start_at": "start_at", "no_end_at": "end_at"}


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@change_options
@click.option("--no-max-lateness", is_flag=True, help="The same as --max-lateness-ms none.")
@click.option("--no-start-at", is_flag=True, help="The same as --start-at none.")
@click.option("--no-end-at", is_flag=True, help="The same as --end-at none.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@revision_option
@shared
@pass_app
def update(app: App, /, schedule_id: str, dry_run: bool, revision: int | None, **options: Any) -> None:
    """Change the given fields of a schedule; the others keep their values.

    An edit of --spec, --start-at or --end-at starts again from the first tick after it; any other keeps the
    next run. Ticks that are enqueued already keep the definition they were enqueued with.
    """
    store, before = app.store, app.store.schedules.get(schedule_id)
    changes = _changes(options, before)
    if dry_run:
        edit = _foreseen(store, before, changes, revision)
    else:
        # Parts of the backoff were completed from what was read, so they are written to just that.
        merged = any(name.startswith("backoff_") and value is not None for name, value in options.items())
        expected = before.revision if revision is None and merged else revision
        edit = store.schedules.update(schedule_id, changes, revision=expected)
    app.show(told_edit(edit, dry_run=dry_run), lambda: draw_edit(before, edit, app.now_ms(), dry_run=dry_run))
    say_unknown(app, edit.record.definition)


def _changes(options: dict[str, Any], record: ScheduleRecord) -> dict[str, Any]:
    cleared = {field: None for flag, field in _CLEARING.items() if options.pop(flag)}
    for field in cleared:
        if options.get(field) is not None:
            raise click.UsageError(f"--{field.replace('_', '-')} sets what another option clears.")
    given = given_fields(options)
    changes = {**given.over(record.definition.backoff.model_dump()), **cleared}
    if not changes:
        raise click.UsageError("Nothing to change: name a field, such as --spec '0 9 * * *'.")
    return changes


def _foreseen(store: Store, before: ScheduleRecord, changes: Mapping[str, Any], revision: int | None) -> Edit:
    """The edit as `update` would make it now."""
    if revision is not None and revision != before.revision:
        raise RevisionConflict(before.schedule_id)
    return store.schedules.preview_update(before.schedule_id, changes)
