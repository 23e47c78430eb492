"""`duly occurrence`."""

from __future__ import annotations

import click
from rich.console import RenderableType

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.decision_lines import evidence
from duly.common.cli.holds import what_to_do
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.cli.trail import RunLines
from duly.common.cli.verdicts import decision_cell
from duly.common.explain.judged import Judged
from duly.common.explain.occurrence import Explained, explain_occurrence
from duly.common.explain.text import count
from duly.common.explain.words import cause, last_error
from duly.common.instant import to_rfc3339
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState

_DROPPED = (
    "Older lines of its run history were dropped: of each schedule the latest DULY_SCHEDULE_HISTORY transitions are "
    "kept, about four a run. What is on record of the occurrence itself is whole."
)


@click.command()
@click.argument("schedule_id", metavar="ID", shell_complete=complete_ids)
@click.argument("tick", metavar="TICK_MS", required=False)
@shared
@pass_app
def occurrence(app: App, schedule_id: str, tick: str | None) -> None:
    """All that is known of one tick. TICK_MS is epoch milliseconds or an RFC 3339 instant.

    ID@TICK_MS, as logs name it, is the same. Without a record it says why: skipped, dropped, still ahead.
    """
    told = explain_occurrence(app.store, read_occurrence(schedule_id, tick))
    app.show(told.to_dict(), lambda: _draw_absence(told) if told.record is None else _draw(told, told.record))


def _draw_absence(told: Explained) -> RenderableType:
    return output.stack(
        output.facts(
            [
                ("occurrence", output.cell(str(told.occurrence), "bold")),
                ("tick", output.instant(told.occurrence.tick_ms, told.now_ms)),
                ("record", told.explanation),
                *(_decided(told.judged) if told.judged else []),
            ]
        ),
        _draw_timeline(told),
    )


def _draw(told: Explained, record: OccurrenceRecord) -> RenderableType:
    judged = told.judged
    # A hold's decision says it better.
    in_decision = record.state is OccurrenceState.HELD and judged is not None and judged.verdict is not None
    stands = output.facts(
        [
            ("occurrence", output.cell(str(told.occurrence), "bold")),
            ("tick", output.instant(told.occurrence.tick_ms, told.now_ms)),
            ("state", output.cell(record.state.value)),
            ("meaning", None if in_decision else told.explanation),
            *(_decided(judged) if judged else []),
            ("released by", told.released_by),
        ]
    )
    return output.stack(
        stands,
        output.stack("", what_to_do(record, orphaned=told.orphaned)) if record.waits_because else None,
        "",
        output.facts(_facts(record)),
        _draw_timeline(told),
        output.stack("", output.cell(_title(judged), "bold"), evidence(judged)) if judged else None,
    )


def _decided(judged: Judged) -> list[tuple[str, object]]:
    if judged.verdict is None:
        return [("decision", "none was made" if judged.over else "none yet: a worker decides when it has the lease")]
    at = f"as of {to_rfc3339(judged.case.now_ms)}: " if judged.over and isinstance(judged.case.now_ms, int) else ""
    name = "last decision" if judged.over else "decision"
    return [(name, decision_cell(judged.verdict)), ("why", f"{at}{judged.verdict.explanation}")]


def _title(judged: Judged) -> str:
    if judged.number is None:
        return "EVIDENCE as it stands now"
    of = f"decision {judged.number} of {judged.decisions}" if judged.number > 1 else "the decision"
    marked = "; ! marks what blocks" if judged.verdict is not None and judged.verdict.blocking_fields else ""
    return f"EVIDENCE of {of}{marked}"


def _facts(record: OccurrenceRecord) -> list[tuple[str, object]]:
    """What the record says beside its evidence."""
    resolution = record.resolution or {}
    extra = f", {count(resolution['extra_attempts'], 'extra attempt')}" if resolution.get("extra_attempts") else ""
    work = f"{record.task} on queue '{record.queue}'" + (" (an extra run)" if record.kind == "manual" else "")
    return [
        ("work", work if record.effects is None else f"{work}, effects {record.effects}"),
        ("attempts", f"{record.attempt} of {record.retry_budget}"),
        ("job", record.job_id),
        ("approved by", record.approved_by),
        ("fencing token", record.fencing_token),
        ("last error", last_error(record)),
        ("cause", cause(record.cause)),
        ("result", record.result_ref),
        ("late results", ", ".join(f"token {token}: {ref}" for token, ref in record.late_results.items())),
        ("other claims", ", ".join(record.claims.values())),
        (
            "resolved" if record.state.terminal else "earlier hold resolved",
            f"{resolution['outcome']} by {resolution['by']}: {resolution['evidence']}{extra}" if resolution else None,
        ),
    ]


def _draw_timeline(told: Explained) -> RenderableType | None:
    dropped = output.cell(_DROPPED, "yellow") if told.trimmed else None
    if not told.timeline:
        return None if dropped is None else output.stack("", dropped)
    lines = RunLines(told.timeline, hidden=["SCHEDULE", "TICK"])
    return output.stack("", dropped, lines.heading(), *lines.of(told.timeline))
