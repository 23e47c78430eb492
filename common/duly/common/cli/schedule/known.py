"""Notes when no worker that runs could take what schedules make."""

from __future__ import annotations

from collections.abc import Sequence

import click

from duly.common.cli.app import App
from duly.common.errors import StoreUnavailable
from duly.common.explain.text import count
from duly.common.explain.workers import missing
from duly.common.records.definition import ScheduleDefinition

_NAMED = 5


def say_unknown(app: App, definition: ScheduleDefinition) -> None:
    """A note on stderr when the workers that run could not run it. What was written stays written."""
    for _, what in _unknown(app, [definition]):
        click.echo(f"note: {what}", err=True)


def say_which_are_unknown(app: App, definitions: Sequence[ScheduleDefinition]) -> None:
    """The same for many: a line for each of the first ones, and how many more there are."""
    found = _unknown(app, definitions)
    for schedule_id, what in found[:_NAMED]:
        click.echo(f"note: schedule '{schedule_id}': {what}", err=True)
    if len(found) > _NAMED:
        click.echo(f"note: and so for {count(len(found) - _NAMED, 'schedule')} more", err=True)


def _unknown(app: App, definitions: Sequence[ScheduleDefinition]) -> list[tuple[str, str]]:
    """Schedules and what nobody does for them, from one look at the fleet; nothing for programs."""
    if app.json or not definitions:
        return []
    try:
        workers = app.store.fleet.snapshot()["workers"]
    except StoreUnavailable:
        return []
    found = [(each.schedule_id, missing(workers, each.task, each.queue)) for each in definitions]
    return [(schedule_id, what) for schedule_id, what in found if what]
