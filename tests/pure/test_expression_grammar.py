"""What `parse` accepts, what it refuses, and what a refusal says."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from duly.common.errors import DulyError
from duly.common.expression import MAX_SPEC_LENGTH, Expression, ExpressionError, grammar, interval, parse
from duly.common.expression import parsing as whole
from duly.common.expression import zone as zones
from duly.common.expression.example import Example

START_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000) - 1

REFUSED = [
    # the text as a whole
    ("", "spec"),
    ("   ", "spec"),
    ("*", "spec"),
    ("* * * *", "spec"),
    ("* * * * * * *", "spec"),
    ("0 0 0 1 1 * 2030", "spec"),
    ("@daily", "spec"),
    ("@Hourly", "spec"),
    ("@midnight", "spec"),
    ("@reboot", "spec"),
    ("@annually", "spec"),
    ("CRON_TZ=Europe/Paris @daily", "spec"),
    ("CRON_TZ=Europe/Paris", "spec"),
    ("CRON_TZ=Europe/Paris ", "spec"),
    ("CRON_TZ=UTC * * * *", "spec"),
    ("* * * * *\n", "spec"),
    ("* * * *\n*", "spec"),
    ("\n* * * * *", "spec"),
    ("*\t* * * *", "spec"),
    ("* * * * *\r", "spec"),
    ("* * * * *\x00", "spec"),
    ("* * * * *\x7f", "spec"),
    ("* * * *\u00a0*", "spec"),
    ("* * * * *\u2028", "spec"),
    ("\u0663 * * * *", "spec"),
    ("\uff15 * * * *", "spec"),
    ("@every:\u0661\u0660\u0660\u0660", "spec"),
    ("CRON_TZ=Europe/Z\u00fcrich * * * * *", "spec"),
    ("0 9 * * \ud800", "spec"),
    ("0" * 129, "spec"),
    (" " * 129, "spec"),
    ("* * * * *" + " " * 120, "spec"),
    ("0," * 50_000 + "0 * * * *", "spec"),
    # intervals
    ("@every", "spec.interval"),
    ("@every:", "spec.interval"),
    ("@every:0", "spec.interval"),
    ("@every:99", "spec.interval"),
    ("@every:-1000", "spec.interval"),
    ("@every:+1000", "spec.interval"),
    ("@every:1000.0", "spec.interval"),
    ("@every:1e3", "spec.interval"),
    ("@every:1_000", "spec.interval"),
    ("@every:0x3e8", "spec.interval"),
    ("@every:0100", "spec.interval"),
    ("@every: 1000", "spec.interval"),
    ("@every:1000 ms", "spec.interval"),
    ("@every:1s", "spec.interval"),
    ("@every 5m", "spec.interval"),
    ("@EVERY:1000", "spec.interval"),
    ("@every:31622400001", "spec.interval"),
    ("@every:99999999999999999999", "spec.interval"),
    # zones
    ("TZ=Europe/Paris 0 9 * * *", "spec.timezone"),
    ("cron_tz=Europe/Paris 0 9 * * *", "spec.timezone"),
    ("CRON_TZ= 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=Mars/Olympus 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=europe/paris 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=utc 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=../../etc/passwd 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=/etc/localtime 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=Europe/../Europe/Paris 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=Europe 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=localtime 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=Factory 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=+02:00 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=TZ=UTC 0 9 * * *", "spec.timezone"),
    ("CRON_TZ=UTC @every:1000", "spec.timezone"),
    ("CRON_TZ=Europe/Paris  @every:1000", "spec.timezone"),
    # seconds, minutes, hours
    ("60 * * * * *", "spec.second"),
    ("? * * * * *", "spec.second"),
    ("*/61 * * * * *", "spec.second"),
    ("60 * * * *", "spec.minute"),
    ("-1 * * * *", "spec.minute"),
    ("+1 * * * *", "spec.minute"),
    ("1.5 * * * *", "spec.minute"),
    ("001 * * * *", "spec.minute"),
    ("? * * * *", "spec.minute"),
    ("H * * * *", "spec.minute"),
    ("H/15 * * * *", "spec.minute"),
    ("R * * * *", "spec.minute"),
    ("R R * * *", "spec.minute"),
    ("R(0-10) * * * *", "spec.minute"),
    ("*/0 * * * *", "spec.minute"),
    ("*/90 * * * *", "spec.minute"),
    ("*/ * * * *", "spec.minute"),
    ("*/-5 * * * *", "spec.minute"),
    ("*/5/2 * * * *", "spec.minute"),
    ("/5 * * * *", "spec.minute"),
    ("** * * * *", "spec.minute"),
    ("*,5 * * * *", "spec.minute"),
    ("*-5 * * * *", "spec.minute"),
    ("*-5/2 * * * *", "spec.minute"),
    ("5-* * * * *", "spec.minute"),
    ("1,,2 * * * *", "spec.minute"),
    (",1 * * * *", "spec.minute"),
    ("1, * * * *", "spec.minute"),
    (", * * * *", "spec.minute"),
    ("1-2-3 * * * *", "spec.minute"),
    ("5- * * * *", "spec.minute"),
    ("-5 * * * *", "spec.minute"),
    ("30-10 * * * *", "spec.minute"),
    ("10-60 * * * *", "spec.minute"),
    ("10-20/0 * * * *", "spec.minute"),
    ("MON * * * *", "spec.minute"),
    ("1;2 * * * *", "spec.minute"),
    ("0 24 * * *", "spec.hour"),
    ("0 22-2 * * *", "spec.hour"),
    ("0 */25 * * *", "spec.hour"),
    ("0 9am * * *", "spec.hour"),
    ("0 09:00 * * *", "spec.hour"),
    # days and months
    ("0 0 0 * *", "spec.day_of_month"),
    ("0 0 32 * *", "spec.day_of_month"),
    ("0 0 L * *", "spec.day_of_month"),
    ("0 0 15W * *", "spec.day_of_month"),
    ("0 0 LW * *", "spec.day_of_month"),
    ("0 0 L-3 * *", "spec.day_of_month"),
    ("0 0 1,? * *", "spec.day_of_month"),
    ("0 0 ?/2 * *", "spec.day_of_month"),
    ("0 0 30 2 *", "spec.day_of_month"),
    ("0 0 30-31 FEB ?", "spec.day_of_month"),
    ("0 0 31 4,6,9,11 *", "spec.day_of_month"),
    ("0 0 0 31 JUN *", "spec.day_of_month"),
    ("CRON_TZ=Europe/Paris 0 0 31 SEP *", "spec.day_of_month"),
    ("0 0 * 0 *", "spec.month"),
    ("0 0 * 13 *", "spec.month"),
    ("0 0 * ? *", "spec.month"),
    ("0 0 * JANUARY *", "spec.month"),
    ("0 0 * FOO *", "spec.month"),
    ("0 0 * NOV-FEB *", "spec.month"),
    ("0 0 * MON *", "spec.month"),
    ("0 0 * * 8", "spec.day_of_week"),
    ("0 0 * * JAN", "spec.day_of_week"),
    ("0 0 * * MONDAY", "spec.day_of_week"),
    ("0 0 * * FRI-MON", "spec.day_of_week"),
    ("0 0 * * 5-0", "spec.day_of_week"),
    ("0 0 * * MON#2", "spec.day_of_week"),
    ("0 0 * * 5#-1", "spec.day_of_week"),
    ("0 0 * * 5L", "spec.day_of_week"),
    ("0 0 * * L5", "spec.day_of_week"),
    ("0 0 * * */8", "spec.day_of_week"),
    ("0 0 * * ?,1", "spec.day_of_week"),
]

SAME_TICKS = [
    ("0 9 * * *", "0 0 9 * * *"),
    ("  0   9 * *  * ", "0 9 * * *"),
    ("CRON_TZ=UTC   0 9 * * *", "0 9 * * *"),
    ("0 0 ? * ?", "0 0 * * *"),
    ("0 0 ? * MON", "0 0 * * 1"),
    ("0 0 1 * ?", "0 0 1 * *"),
    ("0 0 * * 7", "0 0 * * 0"),
    ("0 0 * * sun", "0 0 * * Sun"),
    ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
    ("0 0 * * 5-7", "0 0 * * 5,6,0"),
    ("0 0 * * 7/2", "0 0 * * 0,2,4,6"),
    ("0 0 * * 1-7/2", "0 0 * * 1,3,5,7"),
    ("0 0 * * SUN-SAT", "0 0 * * *"),
    ("0 0 * * MON-5", "0 0 * * 1,2,3,4,5"),
    ("0 0 * JAN,mar-MAY *", "0 0 * 1,3,4,5 *"),
    ("0 0 * JAN-DEC/3 *", "0 0 * 1,4,7,10 *"),
    ("05 08 * * *", "5 8 * * *"),
    ("5/15 * * * *", "5,20,35,50 * * * *"),
    ("10-20/5 * * * *", "10,15,20 * * * *"),
    ("*/60 */24 * * *", "0 0 * * *"),
    ("*/20,7 * * * *", "0,7,20,40 * * * *"),
    ("3,1,2,2,1-3 * * * *", "1-3 * * * *"),
    # these four croniter reads otherwise
    ("0-0 * * * *", "0 * * * *"),
    ("5-5/3 * * * *", "5 * * * *"),
    ("0 0 * * 7-7", "0 0 * * SUN"),
    ("0 0 15 * 0-6", "0 0 * * *"),
    # a restricted day field that happens to list every day still counts as restricted
    ("0 0 */1 * MON", "0 0 * * *"),
    ("0 0 1-31 * MON", "0 0 * * *"),
]


def all_examples() -> list[tuple[str, Example]]:
    return [
        *(("{}", example) for example in whole.examples()),
        *(("{}", example) for example in grammar.examples()),
        *(("{}", example) for example in interval.examples()),
        *(("CRON_TZ={} 0 9 * * *", example) for example in zones.examples()),
    ]


@pytest.mark.parametrize(("frame", "example"), all_examples())
def test_each_parser_does_with_its_examples_as_it_says(frame: str, example: Example) -> None:
    spec = frame.format(example.text)
    if example.accepted:
        assert isinstance(parse(spec), Expression)
    else:
        with pytest.raises(ExpressionError) as refusal:
            parse(spec)
        assert refusal.value.field == example.refused_field


@pytest.mark.parametrize(("spec", "field"), REFUSED, ids=lambda value: ascii(value)[:40])
def test_a_malformed_spec_is_refused_with_its_field_in_one_printable_line(spec: str, field: str) -> None:
    with pytest.raises(ExpressionError) as refusal:
        parse(spec)
    message = str(refusal.value)
    assert refusal.value.field == field
    assert message.startswith(f"{field}: ")
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


@pytest.mark.parametrize("value", [None, 5, 5.0, True, b"* * * * *", ["*"], {}, object()])
def test_what_is_not_a_string_is_refused_like_any_other_spec(value: object) -> None:
    with pytest.raises(ExpressionError) as refusal:
        parse(value)  # type: ignore[arg-type]
    assert refusal.value.field == "spec"


def test_a_refusal_is_a_value_error_and_one_of_ours_and_survives_pickling() -> None:
    with pytest.raises(ExpressionError) as refusal:
        parse("99 * * * *")
    again = pickle.loads(pickle.dumps(refusal.value))
    assert isinstance(refusal.value, ValueError)
    assert isinstance(refusal.value, DulyError)
    assert (again.code, again.field, str(again)) == ("invalid_spec", "spec.minute", str(refusal.value))
    assert str(again) == "spec.minute: 99 is out of range; write 0 to 59"


def test_a_macro_is_refused_with_the_fields_to_write_instead() -> None:
    with pytest.raises(ExpressionError, match=r"write '0 0 \* \* \*' instead of '@daily'"):
        parse("@daily")


def test_the_longest_spec_is_accepted_and_one_character_more_is_not() -> None:
    minutes = ",".join(f"{minute:02}" for minute in range(40))
    spec = f"{minutes} * * * *".ljust(MAX_SPEC_LENGTH)
    assert parse(spec).next_after(START_MS) == START_MS + 1
    with pytest.raises(ExpressionError, match="at most 128 characters; there are 129"):
        parse(spec + " ")


@pytest.mark.parametrize(("one", "other"), SAME_TICKS)
def test_two_spellings_of_a_rule_have_the_same_ticks(one: str, other: str) -> None:
    def ticks(spec: str) -> list[int]:
        return parse(spec).most_recent(START_MS + 86_400_000 * 400, 200, 0)

    assert ticks(one) == ticks(other)


def test_an_expression_shows_its_spec_type_zone_and_period() -> None:
    def face(expression: Expression) -> tuple[object, ...]:
        return expression.spec, expression.schedule_type, expression.timezone, expression.period_ms

    assert face(parse(" @every:1500 ")) == ("@every:1500", "interval", "UTC", 1500)
    assert face(parse("0 9 * * *")) == ("0 9 * * *", "calendar", "UTC", None)
    with_zone = "CRON_TZ=Asia/Kathmandu 0 9 * * *"
    assert face(parse(with_zone)) == (with_zone, "calendar", "Asia/Kathmandu", None)


def test_expressions_are_remembered_frozen_and_equal_by_spec() -> None:
    for spec in ("@every:1000", "CRON_TZ=Europe/Paris 0 9 * * *"):
        expression = parse(spec)
        assert parse(f" {spec} ") is expression
        assert pickle.loads(pickle.dumps(expression)) == expression
        assert hash(pickle.loads(pickle.dumps(expression))) == hash(expression)
        assert not hasattr(expression, "__dict__")
        with pytest.raises(AttributeError):
            expression.spec = "@every:2000"  # type: ignore[misc]
    assert parse("0 9 * * *") != parse("0 9 * * ?")
    assert repr(parse("0 9 * * *")) == "CronExpression(spec='0 9 * * *')"
