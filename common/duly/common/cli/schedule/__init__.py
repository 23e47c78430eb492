"""`duly schedule ...`: write, look at and change schedules."""

from __future__ import annotations

import click

from duly.common.cli.lazy import Entry, LazyGroup
from duly.common.cli.options import shared

COMMANDS = {
    "add": Entry("duly.common.cli.schedule.add:add", "Write a new schedule."),
    "list": Entry("duly.common.cli.schedule.listing:listing", "All schedules, by id."),
    "show": Entry("duly.common.cli.schedule.show:show", "One schedule and where it stands."),
    "update": Entry("duly.common.cli.schedule.update:update", "Change fields of a schedule."),
    "pause": Entry("duly.common.cli.schedule.pause:pause", "Stop its ticks from being due."),
    "resume": Entry("duly.common.cli.schedule.resume:resume", "End a pause."),
    "delete": Entry("duly.common.cli.schedule.delete:delete", "Remove a schedule; its records stay."),
    "preview": Entry("duly.common.cli.schedule.preview:preview", "The next ticks of a spec or schedule."),
    "changes": Entry("duly.common.cli.schedule.changes:changes", "Who changed what of it."),
    "sync": Entry("duly.common.cli.schedule.sync:sync", "Make the schedules what a file says."),
    "export": Entry("duly.common.cli.schedule.export:export", "Write all schedules as such a file."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
@shared
def schedule() -> None:
    """Write, look at and change schedules."""
