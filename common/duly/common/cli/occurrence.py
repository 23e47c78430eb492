"""`duly occurrence`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import RenderableType

from duly.common.cli import output, words
from duly.common.cli.absence import Absence, explain_absence, timeline_of
from duly.common.cli.app import App, pass_app
from duly.common.cli.holds import how_to_resolve
from duly.common.cli.options import read_occurrence, shared
from duly.common.cli.text import count
from duly.common.cli.trail import RunLines
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


def _show_record(app: App, record: OccurrenceRecord, timeline: Sequence[RunEvent]) -> None:
    now_ms = app.now_ms()
    released_by = _released_by(app.store, record, now_ms)
    app.show(
        {
            **record.to_dict(),
            "on_record": True,
            "explanation": words.state(record, now_ms),
            "released_by": released_by,
            "timeline": [event.to_dict() for event in timeline],
        },
        lambda: _draw(record, released_by, timeline, now_ms),
    )


def _show_absence(app: App, asked: Occurrence, absence: Absence, timeline: Sequence[RunEvent]) -> None:
    app.show(
        {
            "schedule_id": asked.schedule_id,
            "tick_ms": asked.tick_ms,
            "tick_at": to_rfc3339(asked.tick_ms),
            "on_record": False,
            "explanation": absence.explanation,
            "events": [event.to_dict() for event in absence.events],
            "timeline": [event.to_dict() for event in timeline],
        },
        lambda: output.stack(
            output.facts(
                [
                    ("occurrence", output.cell(str(asked), "bold")),
                    ("tick", output.instant(asked.tick_ms, app.now_ms())),
                    ("record", absence.explanation),
                ]
            ),
            _draw_timeline(timeline),
        ),
    )


def _released_by(store: Store, record: OccurrenceRecord, now_ms: int) -> str | None:
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
    record: OccurrenceRecord, released_by: str | None, timeline: Sequence[RunEvent], now_ms: int
) -> RenderableType:
    held = record.state is OccurrenceState.HELD
    stands = output.facts(
        [
            ("occurrence", output.cell(str(record.occurrence), "bold")),
            ("tick", output.instant(record.occurrence.tick_ms, now_ms)),
            ("state", output.cell(record.state.value)),
            ("meaning", words.state(record, now_ms)),
            ("released by", released_by),
        ]
    )
    command = output.stack("", how_to_resolve(record.occurrence)) if held else None
    return output.stack(stands, command, "", output.facts(_facts(record, now_ms)), _draw_timeline(timeline))


def _facts(record: OccurrenceRecord, now_ms: int) -> list[tuple[str, object]]:
    resolution = record.resolution or {}
    leased = record.state in {OccurrenceState.LEASED, OccurrenceState.RUNNING}
    return [
        ("kind", record.kind),
        ("task", record.task),
        ("queue", record.queue),
        ("attempts", f"{record.attempt} of {record.retry_budget}"),
        ("idempotency key", record.idempotency_key),
        ("job", record.job_id),
        ("reviewer", record.review_owner),
        ("lease owner", record.lease_owner if leased else None),
        ("lease ends", output.instant(record.lease_expires_ms, now_ms) if leased else None),
        ("fencing token", record.fencing_token),
        ("effects", record.effects),
        ("earlier outcome", None if record.prior_outcome == "NONE" else record.prior_outcome),
        ("last error", record.last_error),
        ("result", record.result_ref),
        ("late results", ", ".join(f"token {token}: {ref}" for token, ref in record.late_results.items())),
        ("enqueued", output.instant(record.enqueued_ms, now_ms)),
        ("began", output.instant(record.began_ms, now_ms)),
        ("held", output.instant(record.held_ms, now_ms)),
        ("ended", output.instant(record.ended_ms, now_ms)),
        (
            "resolved" if record.state.terminal else "earlier hold resolved",
            f"{resolution['outcome']} by {resolution['by']}: {resolution['evidence']}" if resolution else None,
        ),
    ]


def _draw_timeline(timeline: Sequence[RunEvent]) -> RenderableType | None:
    if not timeline:
        return None
    lines = RunLines(timeline, hidden=["SCHEDULE", "TICK"])
    return output.stack("", lines.heading(), *lines.of(timeline))
