"""What `events`, `runs` and `occurrence` share: records of the past, drawn as one line for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.text import Text

from duly.common.cli import output
from duly.common.cli.record_lines import Lines, day, moment, tick
from duly.common.explain import words
from duly.common.explain.text import count
from duly.common.owners import fleet_name
from duly.common.records.trail import EnqueueEvent, RunEvent

WIDE = 100
# What lines that come later may need, in columns that are laid out before they come.
_TYPICAL = {"SCHEDULE": 12, "EVENT": 28, "WORKER": 10}


class RunLines:
    """Transitions as lines: a heading, the date where it changes, and one line for each. ``hidden`` names columns."""

    def __init__(self, events: Sequence[RunEvent], *, hidden: Iterable[str] = (), follow: bool = False) -> None:
        self._titles = [t for t in ("AT", "SCHEDULE", "TICK", "TRY", "EVENT", "WORKER") if t not in set(hidden)]
        rows = [self._cells(event) for event in events]
        if follow:
            rows.append(["x" * _TYPICAL.get(title, 0) for title in self._titles])
        self._lines = Lines(
            self._titles,
            rows,
            width=output.console().width,
            flexible=self._titles.index("EVENT"),
            shrinkable=[self._titles.index(title) for title in ("SCHEDULE", "WORKER") if title in self._titles],
        )
        self._day = ""

    def heading(self) -> Text:
        return self._lines.heading()

    def of(self, events: Iterable[RunEvent]) -> Iterator[Text]:
        """The lines of the next records."""
        for event in events:
            if (today := day(event.at_ms)) != self._day:
                self._day = today
                yield Text(f"{today} UTC", style="dim")
            yield self._lines.line(self._cells(event), output.STYLES.get(event.state, ""))

    def _cells(self, event: RunEvent) -> list[str]:
        cells = {
            "AT": moment(event.at_ms),
            "SCHEDULE": event.schedule_id,
            "TICK": tick(event.tick_ms, event.at_ms),
            "TRY": str(event.attempt),
            "EVENT": words.transition(event),
            "WORKER": fleet_name(event.worker),
        }
        return [cells[title] for title in self._titles]


def event_lines(events: Sequence[EnqueueEvent], causes: Mapping[str, str]) -> Iterator[Text]:
    """What became of ticks: a heading, the date of the tick where it changes, and one line for each record.

    ``causes``: by cursor, the reason in a few words where more is known than the record says.
    """
    titles = ["TICK", "OUTCOME", "REASON", "COUNT", "RECORDED"]
    rows = [_event_cells(event, causes.get(event.cursor)) for event in events]
    if all(event.count == 1 for event in events):
        titles.remove("COUNT")
        for row in rows:
            del row[3]
    lines = Lines(titles, rows, width=output.console().width, flexible=2)
    yield lines.heading()
    before = ""
    for event, row in zip(events, rows, strict=True):
        if (today := day(event.last_tick_ms)) != before:
            before = today
            yield Text(f"{today} UTC", style="dim")
        yield lines.line(row, output.STYLES.get(event.outcome, ""))


def _event_cells(event: EnqueueEvent, cause: str | None) -> list[str]:
    last_ms = event.last_tick_ms
    ticks = tick(last_ms, last_ms)
    if event.first_tick_ms != last_ms:
        ticks = f"{tick(event.first_tick_ms, last_ms)}..{ticks}"
    narrow = output.console().width < WIDE
    recorded_ms = event.recorded_ms // 1000 * 1000 if narrow else event.recorded_ms
    return [
        ticks,
        event.outcome,
        cause or words.audit_brief(event.reason),
        _repeated(event),
        tick(recorded_ms, last_ms),
    ]


def _repeated(event: EnqueueEvent) -> str:
    """How many ticks a record speaks for, or how often it was repeated."""
    if event.count == 1:
        return ""
    return count(event.count, "tick") if event.outcome == "skipped" else f"{event.count} times"
