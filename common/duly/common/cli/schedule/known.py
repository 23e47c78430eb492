"""A note when no worker that runs could take what a schedule makes."""

from __future__ import annotations

import click

from duly.common.cli.app import App
from duly.common.errors import StoreUnavailable
from duly.common.explain.workers import unknown
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
