"""`duly hold resolve` and `duly hold approve`."""

from __future__ import annotations

import click

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.errors import DulyError, Refused
from duly.common.explain.resolution import catch_up_latest, explained_refusal
from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceState
from duly.common.store import Store
from duly.common.store.holds import Resolution


@click.group()
@shared
def hold() -> None:
    """Resolve a hold, or approve a run that waits for it."""


@hold.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.argument("tick", metavar="TICK_MS", required=False)
@click.option(
    "--outcome",
    required=True,
    type=click.Choice([each.value for each in Resolution]),
    help="What is true of it: another attempt is safe, it is done, or it ends here.",
)
@click.option("--by", required=True, metavar="NAME", help="Who says so.")
@click.option("--evidence", required=True, metavar="REF", help="What they looked at: a ticket, a log, a row.")
@click.option("--extra-attempts", type=int, default=0, metavar="N", help="Allow more than the retry budget.")
@click.option(
    "--seen", type=click.IntRange(0), metavar="N", help="Only if the record is as you saw it (duly holds gives N)."
)
@click.option(
    "--catch-up",
    type=click.Choice(["latest", "none"]),
    default="none",
    show_default=True,
    help="Also run the latest tick that the hold kept from running, or wait for the next.",
)
@shared
@pass_app
def resolve(
    app: App,
    schedule_id: str,
    tick: str | None,
    outcome: str,
    by: str,
    evidence: str,
    extra_attempts: int,
    seen: int | None,
    catch_up: str,
) -> None:
    """Say what is true of a held occurrence. The same resolution twice is one. ID@TICK_MS is accepted too."""
    occurrence = read_occurrence(schedule_id, tick)
    try:
        state, again = app.store.holds.resolve(occurrence, Resolution(outcome), by, evidence, extra_attempts, seen=seen)
    except Refused as refused:
        raise explained_refusal(app.store, occurrence, refused) from refused
    caught_up = catch_up_latest(app.store, occurrence) if catch_up == "latest" else None
    app.show(
        {
            "schedule_id": occurrence.schedule_id,
            "tick_ms": occurrence.tick_ms,
            "state": state.value,
            "replayed": again,
            "catch_up_tick_ms": caught_up and caught_up.tick_ms,
            "catch_up": caught_up and caught_up.said,
        },
        lambda: output.facts(
            [
                ("resolved", str(occurrence)),
                ("state", state.value),
                ("note", "this resolution was recorded before" if again else None),
                ("attempt", _none_follows(app.store, occurrence, state)),
                ("catch-up", caught_up and caught_up.said),
            ]
        ),
    )


def _none_follows(store: Store, occurrence: Occurrence, state: OccurrenceState) -> str | None:
    """Why no other attempt follows, though the resolution allows one."""
    if state is not OccurrenceState.PENDING:
        return None
    try:
        orphaned = store.holds.orphaned([store.attempts.get(occurrence)])
    except DulyError:
        return None  # what was recorded is recorded
    return "none will be made: its schedule was deleted" if orphaned else None


@hold.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.argument("tick", metavar="TICK_MS", required=False)
@click.option("--by", required=True, metavar="NAME", help="Its reviewer.")
@shared
@pass_app
def approve(app: App, schedule_id: str, tick: str | None, by: str) -> None:
    """Let a run happen that waits for its reviewer. The same approval twice is one. ID@TICK_MS is accepted too."""
    occurrence = read_occurrence(schedule_id, tick)
    again = app.store.holds.approve(occurrence, by)
    app.show(
        {
            "schedule_id": occurrence.schedule_id,
            "tick_ms": occurrence.tick_ms,
            "approved_by": by.strip(),
            "replayed": again,
        },
        lambda: output.facts(
            [
                ("approved", str(occurrence)),
                ("by", by.strip()),
                ("note", "this approval was recorded before" if again else "a worker runs it next"),
            ]
        ),
    )
