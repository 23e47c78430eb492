"""Looking for schedules: by words in what names them, by how they stand; a bounded part of them at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from duly.common.errors import InvalidField
from duly.common.identity import SCHEDULE_ID
from duly.common.records.schedule import ScheduleRecord, ScheduleState
from duly.common.store.connection import translated
from duly.common.store.schedule_reader import ScheduleReader
from duly.common.store.scripts import Scripts

MOST_LOOKED_AT = 1_000
"""How many schedules one page looks through."""
_BATCH = 250
"""How many one script looks through: the server does nothing else meanwhile."""
PLACE = re.compile(r"(?:all|first|before|after):(?:[a-z0-9][a-z0-9_-]{0,63})?", re.ASCII)
"""A place in what was searched: a part of the schedules, and the id in it that was looked at last."""
_BEHIND_IDS = "\x7f"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: text in id, task, queue or reviewer, in letters of either case, and a state."""

    text: str = ""
    state: ScheduleState | None = None

    @property
    def anything(self) -> bool:
        return not self.text and self.state is None

    def fits(self, record: ScheduleRecord) -> bool:
        definition = record.definition
        named = f"{record.schedule_id} {definition.task} {definition.queue} {definition.review_owner}".casefold()
        return self.text.casefold() in named and self.state in {None, record.state}


class Found(NamedTuple):
    """One page. ``after``: the place of the next one, None at the end; ``looked_at``: how many were looked through."""

    records: list[ScheduleRecord]
    after: str | None
    looked_at: int


class _Part(NamedTuple):
    """Some of the ids, by the bounds of a range in order of the ids."""

    name: str
    low: str
    high: str


class ScheduleSearch:
    """Searches of one fleet's schedules."""

    def __init__(self, reader: ScheduleReader, scripts: Scripts) -> None:
        self._reader = reader
        self._scripts = scripts

    def page(self, wanted: Wanted, limit: int, after: str = "") -> Found:
        """Up to ``limit`` schedules that fit, from behind the place ``after``.

        Those whose ids begin with the text come first, then the others, each in order of their ids. A page may be
        empty and not the last. Stays right while schedules come and go: one that fits throughout is on one page.
        Raises InvalidField for a place that this search does not have.
        """
        parts, last = _from(_parts(wanted.text), after)
        found, looked_at = list[ScheduleRecord](), 0
        while True:
            if len(found) == limit or looked_at >= MOST_LOOKED_AT:
                return Found(found, f"{parts[0].name}:{last}", looked_at)
            ids, looked, reached, more = self._look(
                wanted, parts[0], last, limit - len(found), min(_BATCH, MOST_LOOKED_AT - looked_at)
            )
            looked_at += looked
            found += [record for record in self._reader.usable(ids) if wanted.fits(record)]
            if more:
                last = reached
            elif len(parts) == 1:
                return Found(found, None, looked_at)
            else:
                parts, last = parts[1:], ""

    def _look(self, wanted: Wanted, part: _Part, last: str, most: int, looks: int) -> tuple[list[str], int, str, bool]:
        """Ids that may fit, how many were looked at, the last of these, and whether there are more."""
        with translated():
            reply = self._scripts.call(
                "search",
                low=f"({last}" if last else part.low,
                high=part.high,
                most=most,
                looks=looks,
                text=wanted.text.casefold(),
                state="" if wanted.state is None else wanted.state.value,
            )
        return list(reply[1]), int(reply[2]), str(reply[3]), reply[4] == "more"


def _parts(text: str) -> Sequence[_Part]:
    """The schedules in the order in which they are looked at: those whose ids begin with the text come first."""
    begin = text.casefold()
    if not SCHEDULE_ID.fullmatch(begin):
        return [_Part("all", "-", "+")]
    end = begin + _BEHIND_IDS
    return [
        _Part("first", f"[{begin}", f"({end}"),
        _Part("before", "-", f"({begin}"),
        _Part("after", f"[{end}", "+"),
    ]


def _from(parts: Sequence[_Part], after: str) -> tuple[Sequence[_Part], str]:
    """The parts from a place on, and the id that was looked at last in the first of them."""
    name, _, last = after.partition(":")
    left = [at for at, part in enumerate(parts) if part.name == name] if after else [0]
    if after and not (PLACE.fullmatch(after) and left):
        raise InvalidField("cursor", "is none that a page of this list gave")
    return parts[left[0] :], last
