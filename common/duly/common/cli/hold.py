"""`duly hold resolve`."""

from __future__ import annotations

import click

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import read_tick, shared
from duly.common.identity import Occurrence, check_schedule_id
from duly.common.store.holds import Resolution


@click.group()
@shared
def hold() -> None:
    """Resolve a hold."""


@hold.command()
@click.argument("schedule_id", metavar="ID")
@click.argument("tick", metavar="TICK_MS")
@click.option(
    "--outcome",
    required=True,
    type=click.Choice([each.value for each in Resolution]),
    help="What is true of it: another attempt is safe, it is done, or it ends here.",
)
@click.option("--by", required=True, metavar="NAME", help="Who says so.")
@click.option("--evidence", required=True, metavar="REF", help="What they looked at: a ticket, a log, a row.")
@click.option("--extra-attempts", type=int, default=0, metavar="N", help="Allow more than the retry budget.")
@shared
@pass_app
def resolve(app: App, schedule_id: str, tick: str, outcome: str, by: str, evidence: str, extra_attempts: int) -> None:
    """Say what is true of a held occurrence. The same resolution twice is one."""
    occurrence = Occurrence(check_schedule_id(schedule_id), read_tick(tick))
    state, again = app.store.holds.resolve(occurrence, Resolution(outcome), by, evidence, extra_attempts)
    app.show(
        {"schedule_id": schedule_id, "tick_ms": occurrence.tick_ms, "state": state.value, "replayed": again},
        lambda: output.facts(
            [
                ("resolved", str(occurrence)),
                ("state", state.value),
                ("note", "this resolution was recorded before" if again else None),
            ]
        ),
    )
