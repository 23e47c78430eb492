"""Notes when no worker that runs could take what schedules make."""

from __future__ import annotations

from collections.abc import Sequence

import click

from duly.common.cli.app import App
from duly.common.errors import StoreUnavailable
from duly.common.explain.text import count
from duly.common.explain.workers import missing, unknown
from duly.common.records.definition import ScheduleDefinition


def say_unknown(app: App, definition: ScheduleDefinition) -> None:
    """A note on stderr when the workers that run could not run it. What was written stays written."""
    if app.json:
        return
    try:
        found = unknown(app.store, definition)
    except StoreUnavailable:
        return
    if found:
        click.echo(f"note: {found}", err=True)


_NAMED = 5


def say_which_are_unknown(app: App, definitions: Sequence[ScheduleDefinition]) -> None:
    """The same for many, from one look at the fleet: a line for each of the first ones, and how many more there are."""
    if app.json or not definitions:
        return
    try:
        workers = app.store.fleet.snapshot()["workers"]
    except StoreUnavailable:
        return
    found = [(each.schedule_id, missing(workers, each.task, each.queue)) for each in definitions]
    notes = [f"note: schedule '{schedule_id}': {what}" for schedule_id, what in found if what]
    if len(notes) > _NAMED:
        notes[_NAMED:] = [f"note: and so for {count(len(notes) - _NAMED, 'schedule')} more"]
    for note in notes:
        click.echo(note, err=True)
