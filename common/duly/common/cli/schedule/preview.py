"""`duly schedule preview`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule_ids import complete_ids
from duly.common.clock import wall_ms
from duly.common.explain import ticks
from duly.common.explain.clocks import Turn, turns
from duly.common.explain.text import relative
from duly.common.expression import parse
from duly.common.identity import SCHEDULE_ID
from duly.common.instant import to_ms, to_rfc3339
from duly.common.timetable import Timetable


@click.command()
@click.argument("spec_or_id", metavar="SPEC|ID", shell_complete=complete_ids)
@click.option("--after", metavar="T", help="Ticks after this instant, RFC 3339 (default: now).")
@click.option("--count", type=click.IntRange(1, 1000), default=10, show_default=True, help="Ticks at most.")
@shared
@pass_app
def preview(app: App, spec_or_id: str, after: str | None, count: int) -> None:
    """The next ticks of an expression, or of a schedule inside its bounds. An expression needs no Redis."""
    after_ms = None if after is None else to_ms(after, "after")
    if SCHEDULE_ID.fullmatch(spec_or_id):
        timetable = app.store.schedules.get(spec_or_id).definition.timetable
        now_ms = app.now_ms()
    else:
        timetable = Timetable(schedule_id="preview", expression=parse(spec_or_id))
        now_ms = wall_ms()
    from_ms = now_ms if after_ms is None else after_ms
    found = ticks.next_ticks(timetable, from_ms, count)
    app.show(ticks.preview(timetable, found), lambda: _draw(timetable, from_ms, found, now_ms))


def _draw(timetable: Timetable, from_ms: int, found: Sequence[ticks.Tick], now_ms: int) -> RenderableType:
    expression = timetable.expression
    heading = output.facts(
        [
            ("spec", expression.spec),
            ("zone", expression.timezone),
            ("first", relative(found[0].ms, now_ms) if found else None),
        ]
    )
    if not found:
        return output.stack(heading, output.cell("no ticks after that instant"))
    rows = [(to_rfc3339(tick.ms), tick.local, tick.offset, Text(tick.oddity, style="yellow")) for tick in found]
    listed = output.table("UTC", "LOCAL", "OFFSET", "", rows=rows)
    notes = [output.cell(f"{turn.what}; {turn.effect}", "yellow") for turn in _turns(timetable, from_ms, found[-1].ms)]
    return output.stack(heading, "", listed, "" if notes else None, *notes)


def _turns(timetable: Timetable, from_ms: int, last_ms: int) -> list[Turn]:
    """The changes of the clocks among the ticks that leave some out or would repeat some."""
    return [turn for turn in turns(timetable, from_ms, last_ms) if turn.touches]
