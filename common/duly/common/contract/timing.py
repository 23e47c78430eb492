"""What the expression and the instants of a case say: which rule it is, and whether the occurrence is behind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from duly.common.expression import Expression, ExpressionError, parse
from duly.common.expression.cron import CronExpression
from duly.common.expression.zone import Zone, zone

from .case import BACKFILL, BY_EXPRESSION, POLICIES, TIMETABLE, BackoffState, Case, Unreadable

GRACE_MS: Final = 60_000
_CACHED_RULES: Final = 4096
_ZONE_PREFIX: Final = "CRON_TZ="


@dataclass(frozen=True, slots=True)
class Rule:
    """An expression and a zone, read together."""

    expression: Expression | None
    """The ticks; None when the two do not say which."""
    schedule_type: str | None
    """What the expression is, whatever the zone; None when it cannot be read."""
    zone_known: bool
    zones_differ: bool
    """Whether the expression brings another zone than the one beside it."""

    @property
    def faults(self) -> tuple[str, ...]:
        """The fields because of which there are no ticks to ask about; empty when there are."""
        if self.expression is not None:
            return ()
        if self.zones_differ:
            return ("schedule_expression", "timezone")
        unparsed = () if self.schedule_type else ("schedule_expression",)
        return unparsed if self.zone_known else (*unparsed, "timezone")


def rule_of(case: Case) -> Rule:
    """The rule of a case; remembered, since a fleet asks for few rules very often."""
    return _rule(case.schedule_expression, case.timezone)


@lru_cache(maxsize=_CACHED_RULES)
def _rule(text: str | Unreadable, timezone: str | Unreadable) -> Rule:
    written, clock = _parsed(text), _zone(timezone)
    if written is None:
        return Rule(None, None, zone_known=clock is not None, zones_differ=False)
    expression: Expression | None = written
    differ = False
    if isinstance(written, CronExpression) and written.spec.startswith(_ZONE_PREFIX):
        differ = clock is not None and written.zone != clock
        expression = written if written.zone == clock else None
    elif isinstance(written, CronExpression):
        # Put together here and not as a text: a zone's name must not push an expression over the longest length.
        spec = f"{_ZONE_PREFIX}{timezone} {written.spec}"
        expression = None if clock is None else replace(written, spec=spec, timezone=clock.key, zone=clock)
    return Rule(expression, written.schedule_type, zone_known=clock is not None, zones_differ=differ)


def _parsed(text: str | Unreadable) -> Expression | None:
    if not isinstance(text, str):
        return None
    try:
        return parse(text)
    except ExpressionError:
        return None


def _zone(name: str | Unreadable) -> Zone | None:
    if not isinstance(name, str):
        return None
    try:
        return zone(name)
    except ExpressionError:
        return None


def later_due_tick(case: Case) -> int | None:
    """The later tick that is due already; None when there is none, or when the case does not say.

    An extra run stands beside the timetable, so no tick is later than it.
    """
    now_ms, occurrence_ms, later_ms = case.now_ms, case.occurrence_ms, case.later_tick_ms
    if case.trigger != TIMETABLE or not isinstance(now_ms, int) or not isinstance(occurrence_ms, int):
        return None
    if later_ms is BY_EXPRESSION:
        expression = rule_of(case).expression
        later_ms = expression.next_after(occurrence_ms) if expression else None
    return later_ms if isinstance(later_ms, int) and occurrence_ms < later_ms <= now_ms else None


def gives_way(case: Case) -> bool:
    """Whether the occurrence certainly leaves the work to a later tick: stale, coalescible, and never attempted."""
    policy = case.missed_run_policy
    coalescible = policy in POLICIES and policy != BACKFILL
    return coalescible and case.attempt == 1 and later_due_tick(case) is not None


def waits_for_retry(case: Case) -> bool:
    """Whether the backoff has certainly not ended."""
    backoff = case.backoff_state
    return isinstance(backoff, BackoffState) and isinstance(case.now_ms, int) and case.now_ms < backoff.not_before_ms


def released_ms(case: Case) -> int | None:
    """The tick and the jitter that was applied to it, as far as that is valid; None when the tick cannot be read."""
    if not isinstance(case.occurrence_ms, int):
        return None
    applied, window = case.applied_jitter_ms, case.jitter_window_ms
    valid = isinstance(applied, int) and isinstance(window, int) and 0 <= applied <= window
    return case.occurrence_ms + applied if valid and isinstance(applied, int) else case.occurrence_ms


def is_overdue(case: Case) -> bool:
    """Whether a later tick is due too, or the occurrence was released over a minute ago."""
    released = released_ms(case)
    late = released is not None and isinstance(case.now_ms, int) and case.now_ms > released + GRACE_MS
    return late or later_due_tick(case) is not None
