"""The strict grammar of the five or six fields of a cron expression.

Nothing is guessed: what is not plainly one of the forms below is refused, with the field and what would be
right.

    field  =  "*"  |  "?"  |  item ("," item)*        "?" in the day fields only
    item   =  "*/" step  |  value  |  value "/" step  |  value "-" value  |  value "-" value "/" step

A `value` is one or two digits, or a name of three letters in any case (`JAN`, `MON`). `value/step` runs to
the end of the field. Sunday is 0 and 7, so `FRI-SUN` and `5-7` are one range; any other range that runs
backwards is refused.

croniter, the usual library for this, is not used here but as the second opinion in the tests: it reads
`0-0` as every minute, `5-5/3` as `*/3` and `7-7` as every day, and takes steps, macros and a seventh field
that we do not mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .days import Days
from .errors import ExpressionError
from .example import Example
from .times import TimesOfDay

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_ITEM: Final = re.compile(
    r"(?P<low>\*|[0-9]{1,2}|[A-Z]{3})(?:-(?P<high>[0-9]{1,2}|[A-Z]{3}))?(?:/(?P<step>[0-9]{1,2}))?"
)


@dataclass(frozen=True, slots=True)
class _Field:
    """What one field of an expression may hold: `low` to `high`, `*` standing for `low` to `last`."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    question_mark: bool = False

    @property
    def last(self) -> int:
        # The second name of Sunday must not be counted as an eighth day.
        return 6 if self.name == "day_of_week" else self.high

    def error(self, problem: str) -> ExpressionError:
        return ExpressionError(f"spec.{self.name}", problem)


_FIELDS: Final = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day_of_month", 1, 31, question_mark=True),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    _Field("day_of_week", 0, 7, {name: number for number, name in enumerate(_WEEKDAYS)}, question_mark=True),
)


def examples() -> tuple[Example, ...]:
    """Texts that `parse_fields` accepts and refuses."""
    return (
        Example("*/15 9-17 * * MON-FRI", "five fields: steps, ranges and names"),
        Example("*/10 0 12 ? * sun", "six fields, seconds first; a blank day field; names in any case"),
        Example("5/20 0 1,15 JAN,7 *", "a step from a value to the end of the field; a list"),
        Example("0 0 * * FRI-SUN", "Sunday ends a week as well as it begins one"),
        Example("0 0 31 2 1", "31 February never comes, but Mondays do"),
        Example("0 0 30 2 *", "30 February never comes", "spec.day_of_month"),
        Example("* * * *", "four fields", "spec"),
        Example("0 0 0 1 1 * 2030", "seven fields", "spec"),
        Example("60 * * * *", "out of range", "spec.minute"),
        Example("0 22-2 * * *", "a range that runs backwards", "spec.hour"),
        Example("*/0 * * * *", "a step of nothing", "spec.minute"),
        Example("1,,2 * * * *", "an empty list item", "spec.minute"),
        Example("? * * * *", "a blank outside the day fields", "spec.minute"),
        Example("0 0 L * *", "the last day of the month", "spec.day_of_month"),
        Example("0 0 * * 5#2", "the second Friday", "spec.day_of_week"),
    )


def parse_fields(text: str) -> tuple[TimesOfDay, Days]:
    """The times and days that five or six fields separated by spaces name; raises `ExpressionError`."""
    texts = text.split()
    if len(texts) not in (5, 6):
        raise ExpressionError(
            "spec", f"write 5 fields, or 6 with seconds first, separated by spaces; there are {len(texts)}"
        )
    if len(texts) == 5:
        texts.insert(0, "0")
    seconds, minutes, hours, days_of_month, months, weekdays = (
        _parse_field(rule, part) for rule, part in zip(_FIELDS, texts, strict=True)
    )
    days = _days(months, days_of_month, weekdays, day_texts=(texts[3], texts[5]))
    return TimesOfDay(tuple(sorted(hours)), tuple(sorted(minutes)), tuple(sorted(seconds))), days


def _days(
    months: frozenset[int],
    days_of_month: frozenset[int],
    weekdays: frozenset[int],
    day_texts: tuple[str, str],
) -> Days:
    """The cron rule for two day fields: both restricted, either fires; one restricted, that one decides."""
    month_day_free, weekday_free = (text in ("*", "?") for text in day_texts)
    days = Days(
        months,
        frozenset() if month_day_free and not weekday_free else days_of_month,
        frozenset() if weekday_free else weekdays,
    )
    if not days.ever():
        raise ExpressionError("spec.day_of_month", "this date never comes; write a day that one of the months has")
    return days


def _parse_field(rule: _Field, text: str) -> frozenset[int]:
    """The values one field stands for, 7 having become 0 in the day of the week."""
    if text == "*" or (text == "?" and rule.question_mark):
        return frozenset(range(rule.low, rule.last + 1))
    values = [value for item in text.split(",") for value in _parse_item(rule, item)]
    return frozenset(0 if rule.name == "day_of_week" and value == 7 else value for value in values)


def _parse_item(rule: _Field, item: str) -> range:
    match = _ITEM.fullmatch(item.upper())
    if match is None or (match["low"] == "*" and (match["high"] or not match["step"])):
        raise rule.error(_forms(rule, item))
    low, high = _bounds(rule, match["low"], match["high"], open_ended=match["step"] is not None)
    if low > high:
        raise rule.error(f"the range {item!r} runs backwards; split it in two at the end of the field")
    return range(low, high + 1, _step(rule, match["step"]))


def _bounds(rule: _Field, low_text: str, high_text: str | None, *, open_ended: bool) -> tuple[int, int]:
    """The first and last value an item reaches, before its step."""
    if low_text == "*":
        return rule.low, rule.last
    low = _value(rule, low_text)
    if high_text is None:
        # `7/2` starts on Sunday, and so at the start of the week.
        low = low if low <= rule.last else rule.low
        return low, rule.last if open_ended else low
    high = _value(rule, high_text)
    return low, 7 if high_text == "SUN" and low > 0 else high


def _value(rule: _Field, text: str) -> int:
    if text.isdigit():
        value = int(text)
    elif text in rule.names:
        value = rule.names[text]
    else:
        raise rule.error(_forms(rule, text))
    if not rule.low <= value <= rule.high:
        raise rule.error(f"{text} is out of range; write {rule.low} to {rule.high}")
    return value


def _step(rule: _Field, text: str | None) -> int:
    step = 1 if text is None else int(text)
    size = rule.last - rule.low + 1
    # cron would read a longer step as "the first value only", which is never what `*/90` was meant to say.
    if not 1 <= step <= size:
        raise rule.error(f"the step {text} is out of range; write 1 to {size}")
    return step


def _forms(rule: _Field, text: str) -> str:
    named = f" or names such as {next(iter(rule.names))}" if rule.names else ""
    blank = ", '?'" if rule.question_mark else ""
    return (
        f"{text!r} is not understood; write '*'{blank} or a list of {rule.low} to {rule.high}{named}, "
        "of ranges and of steps, such as 1,3-5 or */2"
    )
