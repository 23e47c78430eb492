"""From the text of a schedule to its expression."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .base import Expression
from .cron import CronExpression, LocalTicks
from .errors import ExpressionError
from .example import Example
from .grammar import parse_fields
from .interval import IntervalExpression, parse_period
from .zone import zone

MAX_SPEC_LENGTH: Final = 128
_CACHED_EXPRESSIONS: Final = 4096
_ZONE_PREFIX: Final = "CRON_TZ="
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def examples() -> tuple[Example, ...]:
    """Texts that `parse` accepts and refuses, beyond those of the parsers it hands them to."""
    return (
        Example("  0  9 * * *  ", "spaces around the text, and more than one between fields"),
        Example("CRON_TZ=Europe/Paris 0 9 * * *", "a zone"),
        Example("CRON_TZ=UTC 0 9 * * *", "UTC by name"),
        Example("@daily", "a macro", "spec"),
        Example("TZ=Europe/Paris 0 9 * * *", "another spelling of the zone", "spec.timezone"),
        Example("CRON_TZ=Europe/Paris @every:1000", "intervals are counted in UTC", "spec.timezone"),
        Example("0\t9 * * *", "a tab", "spec"),
        Example("", "nothing", "spec"),
    )


def parse(spec: str) -> Expression:
    """The expression that `spec` spells; parsed once for the same text, as long as it is remembered.

    Raises `ExpressionError`, a `ValueError`, for anything else, also for values that are not strings.
    """
    if not isinstance(spec, str):
        raise ExpressionError("spec", "write the expression as a string")
    # First of all, so that nobody pays for looking at a text of any size.
    if len(spec) > MAX_SPEC_LENGTH:
        raise ExpressionError("spec", f"write at most {MAX_SPEC_LENGTH} characters; there are {len(spec)}")
    if not (spec.isascii() and spec.isprintable()):
        stranger = next(each for each in spec if not " " <= each <= "~")
        raise ExpressionError("spec", f"leave out {stranger!a}; only printable ASCII characters are read")
    return _parse(spec.strip(" "))


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def _parse(spec: str) -> Expression:
    if spec.lower().startswith("@every"):
        return IntervalExpression(spec=spec, timezone="UTC", period_ms=parse_period(spec))
    zone_name, fields = _split_zone(spec)
    if fields.startswith("@"):
        raise _macro_error(fields)
    times, days = parse_fields(fields)
    return CronExpression(
        spec=spec,
        timezone=zone_name,
        period_ms=None,
        ticks=LocalTicks(times, days),
        zone=zone(zone_name),
    )


def _split_zone(spec: str) -> tuple[str, str]:
    """The name of the zone and the rest."""
    first, _, rest = spec.partition(" ")
    if "=" not in first:
        return "UTC", spec
    if not first.startswith(_ZONE_PREFIX):
        raise ExpressionError("spec.timezone", "write the zone as 'CRON_TZ=<IANA zone> ' before the fields")
    fields = rest.lstrip(" ")
    if fields.lower().startswith("@every"):
        raise ExpressionError("spec.timezone", "leave CRON_TZ out: an @every interval is counted in UTC")
    return first.removeprefix(_ZONE_PREFIX), fields


def _macro_error(text: str) -> ExpressionError:
    fields = _MACROS.get(text.lower())
    meant = f"'{fields}' instead of {text!r}" if fields else "cron fields or @every:<ms>"
    return ExpressionError("spec", f"macros are not accepted; write {meant}")
