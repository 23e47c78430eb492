"""`duly recompute`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.decision_lines import decision_cell
from duly.common.cli.failure import REFUSED
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.text import count
from duly.common.contract import write_case
from duly.common.errors import Refused
from duly.common.records.evidence import RecordedDecision
from duly.common.records.occurrence import OccurrenceRecord


@click.command()
@click.argument("schedule_id", metavar="ID")
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
    misfit = misfit_of(record)
    same = misfit is None and all(_same(each) for each in record.decisions)
    app.show(
        {
            "schedule_id": record.occurrence.schedule_id,
            "tick_ms": record.occurrence.tick_ms,
            "same": same,
            "misfit": misfit,
            "decisions": [_told(each) for each in record.decisions],
        },
        lambda: _draw(record, record.decisions, misfit, same),
    )
    return 0 if same else REFUSED


def _same(decision: RecordedDecision) -> bool:
    return decision.decision == decision.again().decision


def misfit_of(record: OccurrenceRecord) -> str | None:
    """What the record says of itself that its decisions do not."""
    last = record.decisions[-1].decision
    if record.hold_reason is not None and record.hold_reason != last:
        return f"it is held for {record.hold_reason}, and what was decided last is {last or 'not readable'}"
    keys = {each.evidence.fields.get("idempotency_key", "") for each in record.decisions}
    if keys != {record.idempotency_key}:
        return "its idempotency key is not the one that was decided on"
    return None


def _told(decision: RecordedDecision) -> dict[str, Any]:
    again = decision.again()
    return {
        "number": decision.number,
        "recorded": decision.decision,
        "recomputed": again.to_dict(),
        "same": decision.decision == again.decision,
        "case": write_case(decision.case),
    }


def _draw(
    record: OccurrenceRecord, decisions: Sequence[RecordedDecision], misfit: str | None, same: bool
) -> RenderableType:
    parts: list[RenderableType] = [output.cell(str(record.occurrence), "bold"), ""]
    for each in decisions:
        again = each.again()
        recomputed = None if _same(each) else decision_cell(again)
        parts += [
            output.facts(
                [
                    (f"decision {each.number}", each.decision or "cannot be read"),
                    ("decided again", recomputed or "the same"),
                    ("why", again.explanation),
                ]
            ),
            "",
        ]
    answer = f"{count(len(decisions), 'decision')} decided again from the record: the same"
    if not same:
        answer = f"NOT the same: {misfit or 'the record is not what was decided on'}"
    return output.stack(*parts, output.cell(answer, "green" if same else "bold red"))
