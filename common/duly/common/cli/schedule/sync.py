"""`duly schedule sync`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.console import RenderableType
from rich.progress import Progress

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule.known import say_which_are_unknown
from duly.common.cli.schedule.schedule_file import read_file
from duly.common.cli.schedule.sync_plan import Action, Step, all_records, carry_out, plan
from duly.common.errors import DulyError, Refused
from duly.common.explain.text import count
from duly.common.store import Store

_NAMED = 5
_DONE = {Action.CREATE: "created", Action.UPDATE: "updated", Action.DELETE: "deleted", Action.UNCHANGED: "unchanged"}
_STYLES = {Action.CREATE: "green", Action.UPDATE: "yellow", Action.DELETE: "red", Action.UNCHANGED: "dim"}


class SyncStopped(DulyError):
    """A step failed: those before it were applied, it and those after it were not."""

    code = "sync_stopped"

    def __init__(self, cause: DulyError, steps: Sequence[Step], done: int) -> None:
        applied = [step.schedule_id for step in steps[:done]]
        left = [step.schedule_id for step in steps[done:]]
        super().__init__(
            f"stopped at schedule '{left[0]}': {cause}; applied {len(applied)} of {count(len(steps), 'change')}"
            f" ({_names(applied)}), not applied: {_names(left)}"
        )
        self.details: Mapping[str, Any] = {"cause": cause.code, "applied": applied, "not_applied": left}


@click.command()
@click.argument("file", metavar="FILE.toml")
@click.option("--prune", is_flag=True, help="Delete schedules that the file does not name.")
@click.option("--dry-run", is_flag=True, help="Only show the plan.")
@click.option("--yes", is_flag=True, help="Let --prune with an empty file delete everything.")
@shared
@pass_app
def sync(app: App, file: str, prune: bool, dry_run: bool, yes: bool) -> None:
    """Make the schedules what a file says. `-` reads standard input.

    The whole file is checked before anything changes; each schedule changes at once or not at all. The file has
    a [[schedule]] table for each schedule, with the fields that `duly schedule show --json` names; a field left
    out has its default, a `state` left out stays as it is.
    """
    entries = read_file(file)
    records = {record.schedule_id: record for record in all_records(app.store)}
    if prune and not entries and records and not yes:
        raise Refused("the file names no schedule, and --prune would delete all there are; add --yes to do that")
    steps = plan(entries, records, app.now_ms(), prune=prune)
    if not app.json:
        output.write(_draw_plan(steps))
    if not dry_run:
        _apply(app.store, [step for step in steps if step.action is not Action.UNCHANGED])
    app.show(_payload(steps, dry_run=dry_run), lambda: _draw_summary(steps, dry_run=dry_run))
    written = [step.entry for step in steps if step.entry and step.action in {Action.CREATE, Action.UPDATE}]
    say_which_are_unknown(app, [entry.definition for entry in written])


def _apply(store: Store, steps: Sequence[Step]) -> None:
    terminal = output.console(err=True)
    with Progress(console=terminal, transient=True, disable=not sys.stderr.isatty()) as progress:
        for done, step in enumerate(progress.track(steps, description="applying")):
            try:
                carry_out(store, step)
            except DulyError as error:
                raise SyncStopped(error, steps, done) from error


def _payload(steps: Sequence[Step], *, dry_run: bool) -> dict[str, Any]:
    counts = Counter(step.action for step in steps)
    return {
        "dry_run": dry_run,
        "plan": [{"schedule_id": s.schedule_id, "action": s.action.value, "changed": list(s.changed)} for s in steps],
        **{word: counts[action] for action, word in _DONE.items()},
    }


def _draw_plan(steps: Sequence[Step]) -> RenderableType:
    touched = [step for step in steps if step.action is not Action.UNCHANGED]
    if not touched:
        return output.stack()
    rows = [
        (output.cell(step.action.value, _STYLES[step.action]), step.schedule_id, output.cell(", ".join(step.changed)))
        for step in touched
    ]
    return output.table("ACTION", "SCHEDULE", "FIELDS", rows=rows)


def _draw_summary(steps: Sequence[Step], *, dry_run: bool) -> RenderableType:
    counts = Counter(step.action for step in steps)
    done = ", ".join(f"{counts[action]} {word}" for action, word in _DONE.items())
    return output.cell(f"dry run, nothing was changed; would be: {done}" if dry_run else done)


def _names(schedule_ids: Sequence[str]) -> str:
    shown = ", ".join(schedule_ids[:_NAMED]) or "none"
    left = len(schedule_ids) - _NAMED
    return f"{shown} and {left} more" if left > 0 else shown
