"""Schedule expressions: which instants are ticks. Pure: no clock is read and nothing is stored.

    parse("@every:60000")                               each whole minute
    parse("*/15 9-17 * * MON-FRI")                      cron, 5 fields, UTC
    parse("30 0 9 * * *")                               cron, 6 fields, seconds first
    parse("CRON_TZ=America/New_York 0 9 * * *")         cron on a zone's wall clock

Model. An interval's ticks are the multiples of its period since the Unix epoch. A cron expression names
local times; each becomes a tick at the first instant at which the clocks of its zone show it. A local time
that is never shown, because clocks went forward over it or a zone dropped a day, has no tick; one that is
shown twice has one. A day matches when its month does and, of two restricted day fields, either does; a day
field is restricted unless it is a bare `*` or `?`.

Invariants. A tick is a whole second of UTC (a whole millisecond for intervals), given in epoch
milliseconds. Ticks depend on nothing but the text and the zone database, so every process with the same
zone database computes the same ones. `next_after`, `latest_at`, `most_recent`, `count_between` and
`is_tick` are views of one set and never disagree.

Cost. Times of day, days of the year and spans of constant UTC offset are each ordered sets with arithmetic
or bisection for "the next", "the previous" and "how many". So no question walks the ticks between two
instants: not over a backlog, nor inside a gap or a fold of the local clock. Counting adds one term a year.

Refusals. `parse` accepts only what it understands completely, before anything is stored, and says which
field is wrong. It refuses macros (`@daily`), `R H L W #`, a year field, `TZ=`, `CRON_TZ=` before `@every`,
texts over 128 characters, dates that never come, unknown zones, ranges that run backwards, steps longer
than their field, and every character that is not printable ASCII, tabs among them. Runs of spaces count as
one; spaces around the text are dropped.

Non-goals. No leap seconds (POSIX time has none), no ticks before 1970 or after 9999, no seconds below one
in cron.
"""

from __future__ import annotations

from .base import Expression, ScheduleType
from .errors import ExpressionError
from .parsing import MAX_SPEC_LENGTH, parse

__all__ = ["MAX_SPEC_LENGTH", "Expression", "ExpressionError", "ScheduleType", "parse"]
