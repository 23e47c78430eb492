"""`duly fleet`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.explain.presence import told_fleet
from duly.common.explain.text import count, duration

_SHOWN = {"name", "role", "state", "queues", "tasks", "seen_at", "seen_ms_ago"}


@click.command()
@shared
@pass_app
def fleet(app: App) -> None:
    """Who holds the duty, which processes are there, and how long their queues are."""
    snapshot = told_fleet(app.store.fleet.snapshot())
    app.show(snapshot, lambda: _draw(snapshot))


def _draw(snapshot: Mapping[str, Any]) -> RenderableType:
    duty = snapshot["duty"]
    holder = output.cell("nobody: start a worker or 'duly scheduler'", "bold red")
    if duty["holder"]:
        holder = output.cell(f"{duty['holder']} since {duty['since']}, for {duration(duty['expires_in_ms'])} more")
    heading = output.facts(
        [
            ("duty", holder),
            ("lag", f"{duration(snapshot['lag_ms'])} behind" if snapshot["lag_ms"] else "none"),
            ("failing", _failing(snapshot["failing"])),
            ("schedules", snapshot["schedules"]),
            ("holds", f"{count(snapshot['holds'], 'hold')}: duly holds" if snapshot["holds"] else "none"),
            ("approvals", f"{count(snapshot['approvals'], 'run')} to approve" if snapshot["approvals"] else None),
            ("now", snapshot["now"]),
        ]
    )
    return output.stack(heading, "", _workers(snapshot), "", _queues(snapshot))


def _failing(number: int) -> RenderableType | None:
    """Said only where there are any: their ticks are still due, and why is in their events."""
    if not number:
        return None
    return output.cell(f"{count(number, 'schedule')}, still due: duly events ID says why", "bold red")


def _workers(snapshot: Mapping[str, Any]) -> RenderableType:
    workers = snapshot["workers"]
    if not workers:
        return output.cell("no workers; start one with: duly worker -m MODULE")
    rows = [
        (each["name"], each.get("role"), each.get("state"), _details(each), f"{duration(each['seen_ms_ago'])} ago")
        for each in workers
    ]
    return output.table("PROCESS", "ROLE", "STATE", "DETAILS", "SEEN", rows=rows)


def _details(process: Mapping[str, Any]) -> str | None:
    lists = [(name, process.get(name)) for name in ("queues", "tasks")]
    parts = [f"{name} {' '.join(map(str, each))}" for name, each in lists if isinstance(each, list) and each]
    parts += [f"{name} {value}" for name, value in process.items() if name not in _SHOWN and value not in (None, "")]
    return ", ".join(parts)


def _queues(snapshot: Mapping[str, Any]) -> RenderableType:
    queues = snapshot["queues"]
    if not queues:
        return output.cell("no queues yet")
    return output.table("QUEUE", "LENGTH", rows=[(each["name"], each["length"]) for each in queues])
