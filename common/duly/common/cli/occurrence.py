"""`duly occurrence`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import RenderableType

from duly.common.cli import output, words
from duly.common.cli.absence import Absence, explain_absence, timeline_of
from duly.common.cli.app import App, pass_app
from duly.common.cli.decision_lines import decision_cell, evidence
from duly.common.cli.holds import what_to_do
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.text import count
from duly.common.cli.trail import RunLines
from duly.common.cli.words import cause
from duly.common.contract import Case, Verdict, decide, write_case
from duly.common.errors import ScheduleNotFound
from duly.common.identity import Occurrence
from duly.common.instant import to_rfc3339
from duly.common.records.occurrence import OccurrenceRecord, OccurrenceState
from duly.common.records.trail import RunEvent
from duly.common.store import Store


@click.command()
@click.argument("schedule_id", metavar="ID")
@click.argument("tick", metavar="TICK_MS", required=False)
@shared
@pass_app
def occurrence(app: App, schedule_id: str, tick: str | None) -> None:
    """All that is known of one tick. TICK_MS is epoch milliseconds or an RFC 3339 instant.

    ID@TICK_MS, as logs name it, is the same. Without a record it says why: skipped, dropped, still ahead.
    """
    asked = read_occurrence(schedule_id, tick)
    record = app.store.attempts.find(asked)
    timeline = timeline_of(app.store, asked)
    if record is None:
        _show_absence(app, asked, explain_absence(app.store, asked, timeline), timeline)
    else:
        _show_record(app, record, timeline)


@dataclass(frozen=True, slots=True)
class Judged:
    """What the contract says of an occurrence: as it was decided last, or of a tick that is still ahead."""

    case: Case
    verdict: Verdict | None
    """None while nothing has been decided; the case is then the evidence as it stands now."""
    title: str
    over: bool = False
    """The occurrence has gone on since, or is over."""

    def to_dict(self) -> dict[str, Any]:
        return {"decision": None if self.verdict is None else self.verdict.to_dict(), **write_case(self.case)}

    def facts(self) -> list[tuple[str, object]]:
        if self.verdict is None:
            return [("decision", "none was made" if self.over else "none yet: a worker decides when it has the lease")]
        at = f"as of {to_rfc3339(self.case.now_ms)}: " if self.over and isinstance(self.case.now_ms, int) else ""
        name = "last decision" if self.over else "decision"
        return [(name, decision_cell(self.verdict)), ("why", f"{at}{self.verdict.explanation}")]


def _show_record(app: App, record: OccurrenceRecord, timeline: Sequence[RunEvent]) -> None:
    now_ms = app.now_ms()
    released_by = released_by_whom(app.store, record, now_ms)
    judged = judged_of(app.store, record)
    app.show(
        {
            **record.to_dict(),
            "on_record": True,
            "explanation": words.state(record, now_ms),
            "released_by": released_by,
            **judged.to_dict(),
            "timeline": [event.to_dict() for event in timeline],
        },
        lambda: _draw(record, released_by, judged, timeline, now_ms),
    )


def judged_of(store: Store, record: OccurrenceRecord) -> Judged:
    """What was decided last, or the evidence as it stands while nothing was."""
    if not record.decisions:
        now = store.attempts.evidence(record.occurrence)
        return Judged(now.case(), None, "EVIDENCE as it stands now", record.state.terminal)
    last = record.decisions[-1]
    verdict = last.again()
    of = f"decision {last.number} of {len(record.decisions)}" if last.number > 1 else "the decision"
    marked = "; ! marks what blocks" if verdict.blocking_fields else ""
    return Judged(last.case, verdict, f"EVIDENCE of {of}{marked}", record.state is not OccurrenceState.HELD)


def _show_absence(app: App, asked: Occurrence, absence: Absence, timeline: Sequence[RunEvent]) -> None:
    judged = None if absence.case is None else Judged(absence.case, decide(absence.case), "EVIDENCE as it stands now")
    app.show(
        {
            "schedule_id": asked.schedule_id,
            "tick_ms": asked.tick_ms,
            "tick_at": to_rfc3339(asked.tick_ms),
            "on_record": False,
            "explanation": absence.explanation,
            **(judged.to_dict() if judged else {"decision": None, "evidence": None, "observed": None}),
            "events": [event.to_dict() for event in absence.events],
            "timeline": [event.to_dict() for event in timeline],
        },
        lambda: output.stack(
            output.facts(
                [
                    ("occurrence", output.cell(str(asked), "bold")),
                    ("tick", output.instant(asked.tick_ms, app.now_ms())),
                    ("record", absence.explanation),
                    *(judged.facts() if judged else []),
                ]
            ),
            _draw_timeline(timeline),
        ),
    )


def released_by_whom(store: Store, record: OccurrenceRecord, now_ms: int) -> str | None:
    """What ends the state it is in; for a pending one, what stands before that."""
    released_by = words.release(record, now_ms)
    if record.state is not OccurrenceState.PENDING:
        return released_by
    try:
        held = store.schedules.get(record.occurrence.schedule_id).held
    except ScheduleNotFound:
        return "its next delivery, which cancels it: its schedule was deleted"
    return (
        f"the reviewer of {count(held, 'hold')} of its schedule (duly holds); then {released_by}"
        if held
        else released_by
    )


def _draw(
    record: OccurrenceRecord,
    released_by: str | None,
    judged: Judged,
    timeline: Sequence[RunEvent],
    now_ms: int,
) -> RenderableType:
    held = record.state is OccurrenceState.HELD
    stands = output.facts(
        [
            ("occurrence", output.cell(str(record.occurrence), "bold")),
            ("tick", output.instant(record.occurrence.tick_ms, now_ms)),
            ("state", output.cell(record.state.value)),
            # A hold's decision says it better.
            ("meaning", None if held and judged.verdict else words.state(record, now_ms)),
            *judged.facts(),
            ("released by", released_by),
        ]
    )
    command = output.stack("", what_to_do(record)) if record.waits_because else None
    return output.stack(
        stands,
        command,
        "",
        output.facts(_facts(record)),
        _draw_timeline(timeline),
        "",
        output.cell(judged.title, "bold"),
        evidence(judged.case, judged.verdict),
    )


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
        ("last error", record.last_error),
        ("cause", cause(record.cause)),
        ("result", record.result_ref),
        ("late results", ", ".join(f"token {token}: {ref}" for token, ref in record.late_results.items())),
        ("other claims", ", ".join(record.claims.values())),
        (
            "resolved" if record.state.terminal else "earlier hold resolved",
            f"{resolution['outcome']} by {resolution['by']}: {resolution['evidence']}{extra}" if resolution else None,
        ),
    ]


def _draw_timeline(timeline: Sequence[RunEvent]) -> RenderableType | None:
    if not timeline:
        return None
    lines = RunLines(timeline, hidden=["SCHEDULE", "TICK"])
    return output.stack("", lines.heading(), *lines.of(timeline))
