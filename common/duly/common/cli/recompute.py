"""`duly recompute`."""

from __future__ import annotations

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.failure import REFUSED
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.cli.verdicts import code_cell, decision_cell
from duly.common.errors import Refused
from duly.common.explain.recompute import Recomputed, recomputed
from duly.common.explain.text import count
from duly.common.records.occurrence import OccurrenceRecord


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.argument("tick", metavar="TICK_MS", required=False)
@shared
@pass_app
def recompute(app: App, schedule_id: str, tick: str | None) -> int:
    """Decide again from the record: is the answer the same?

    Every decision about the occurrence is made again, from the evidence kept with it and nothing else. Ends with 1 when
    one comes out differently, or does not fit what the record says: then the record is not what was decided on.
    ID@TICK_MS is accepted too. With --json each decision comes with its case, ready for `duly contract decide`.
    """
    record = app.store.attempts.get(read_occurrence(schedule_id, tick))
    if not record.decisions:
        raise Refused(f"nothing has been decided about {record.occurrence} yet: it is {record.state}", code="undecided")
    told = recomputed(record)
    app.show(
        {
            "schedule_id": record.occurrence.schedule_id,
            "tick_ms": record.occurrence.tick_ms,
            "same": told.same,
            "misfit": told.misfit,
            "decisions": [each.to_dict() for each in told.decisions],
        },
        lambda: _draw(record, told),
    )
    return 0 if told.same else REFUSED


def _draw(record: OccurrenceRecord, told: Recomputed) -> RenderableType:
    parts: list[RenderableType] = [output.cell(str(record.occurrence), "bold"), ""]
    for each in told.decisions:
        parts += [
            output.facts(
                [
                    (f"decision {each.number}", code_cell(each.recorded) if each.recorded else "cannot be read"),
                    ("decided again", "the same" if each.same else decision_cell(each.again)),
                    ("why", each.again.explanation),
                ]
            ),
            "",
        ]
    answer = f"{count(len(told.decisions), 'decision')} decided again from the record: the same"
    if not told.same:
        answer = f"NOT the same: {told.misfit or 'the record is not what was decided on'}"
    return output.stack(*parts, output.cell(answer, "green" if told.same else "bold red"))
