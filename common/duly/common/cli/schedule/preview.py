"""`duly schedule preview`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import click
from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.text import relative
from duly.common.clock import wall_ms
from duly.common.expression import Expression, parse
from duly.common.identity import SCHEDULE_ID
from duly.common.instant import to_datetime, to_ms, to_rfc3339
from duly.common.timetable import Timetable


@dataclass(frozen=True, slots=True)
class _Tick:
    ms: int
    local: datetime

    @property
    def offset(self) -> timedelta:
        return self.local.utcoffset() or timedelta()

    @property
    def repeated(self) -> bool:
        """Whether the clocks of the zone show this local time twice."""
        return self.local.fold == 0 and self.local.replace(fold=1).utcoffset() != self.offset


@click.command()
@click.argument("spec_or_id", metavar="SPEC|ID")
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
    zone = ZoneInfo(timetable.expression.timezone)
    found = islice(_after(timetable, now_ms if after_ms is None else after_ms), count)
    ticks = [_Tick(ms, to_datetime(ms).astimezone(zone)) for ms in found]
    app.show(
        {
            "spec": timetable.expression.spec,
            "timezone": timetable.expression.timezone,
            "ticks": [{"tick_ms": each.ms, "utc": to_rfc3339(each.ms), "local": _iso(each)} for each in ticks],
        },
        lambda: _draw(timetable.expression, ticks, now_ms),
    )


def _after(timetable: Timetable, after_ms: int) -> Iterator[int]:
    tick_ms = timetable.next_after(after_ms)
    while tick_ms is not None:
        yield tick_ms
        tick_ms = timetable.next_after(tick_ms)


def _iso(tick: _Tick) -> str:
    return tick.local.isoformat(timespec="milliseconds" if tick.ms % 1000 else "seconds")


def _draw(expression: Expression, ticks: Sequence[_Tick], now_ms: int) -> RenderableType:
    heading = output.facts(
        [
            ("spec", expression.spec),
            ("zone", expression.timezone),
            ("first", relative(ticks[0].ms, now_ms) if ticks else None),
        ]
    )
    if not ticks:
        return output.stack(heading, output.cell("no ticks after that instant"))
    rows = [
        (
            to_rfc3339(tick.ms),
            tick.local.strftime("%a %Y-%m-%d %H:%M:%S"),
            tick.local.isoformat()[-6:],
            _oddity(tick, before),
        )
        for before, tick in zip([None, *ticks], ticks, strict=False)
    ]
    return output.stack(heading, "", output.table("UTC", "LOCAL", "OFFSET", "", rows=rows))


def _oddity(tick: _Tick, before: _Tick | None) -> Text:
    """What a reader of the local times should know about the clocks."""
    if before is not None and before.offset != tick.offset:
        return Text("clocks forward" if tick.offset > before.offset else "clocks back", style="yellow")
    return Text("first of two" if tick.repeated else "", style="yellow")
