"""`duly doctor`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.checks import Check, Status, examine, examine_permissions
from duly.common.cli.options import shared
from duly.common.cli.queue_checks import examine_queues
from duly.common.errors import DulyError
from duly.common.explain.text import count


class Unsafe(DulyError):
    """At least one check failed."""

    code = "unsafe_store"


@click.command()
@shared
@pass_app
def doctor(app: App) -> None:
    """Is this Redis safe for leases, and are its schedules' queues duly's alone? Ends with 1 when a check fails."""
    checks = [_addressed(check, app) for check in examine(app.store.client)]
    if checks[0].status is Status.OK:
        checks += [examine_permissions(app.store), examine_queues(app.store)]
    failed = [check.name for check in checks if check.status is Status.FAIL]
    app.show({"ok": not failed, "checks": [dataclasses.asdict(check) for check in checks]}, lambda: _draw(checks))
    if failed:
        raise Unsafe(f"{count(len(failed), 'check')} failed: {', '.join(failed)}")


def _addressed(check: Check, app: App) -> Check:
    """A Redis that does not answer, with where it was looked for."""
    if check.name != "reachable" or check.status is not Status.FAIL:
        return check
    return dataclasses.replace(check, detail=f"{check.detail} ({app.tried()})")


def _draw(checks: Sequence[Check]) -> RenderableType:
    rows = [
        (check.name, output.cell(check.status.value), output.lines(check.detail, check.advice or None))
        for check in checks
    ]
    return output.table("CHECK", "STATUS", "FOUND, AND WHAT TO DO", rows=rows)
