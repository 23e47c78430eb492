"""Instants: RFC 3339 in, epoch milliseconds kept, RFC 3339 out."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.common.errors import InvalidField
from duly.common.identity import LAST_TICK_MS
from duly.common.instant import to_datetime, to_ms, to_rfc3339

NINE_MS = 1_769_850_000_000  # 2026-01-31T09:00:00Z

ACCEPTED = [
    ("2026-01-31T09:00:00Z", NINE_MS),
    ("2026-01-31t09:00:00z", NINE_MS),
    ("2026-01-31 09:00:00Z", NINE_MS),
    ("2026-01-31T09:00:00+00:00", NINE_MS),
    ("2026-01-31T09:00:00-00:00", NINE_MS),
    ("2026-01-31T04:00:00-05:00", NINE_MS),
    ("2026-01-31T14:30:00+05:30", NINE_MS),
    ("2026-01-31T14:45:00+05:45", NINE_MS),
    ("2026-02-01T08:59:00+23:59", NINE_MS),
    ("2026-01-30T09:01:00-23:59", NINE_MS),
    ("2026-01-31T09:00:00.0Z", NINE_MS),
    ("2026-01-31T09:00:00.5Z", NINE_MS + 500),
    ("2026-01-31T09:00:00.05Z", NINE_MS + 50),
    ("2026-01-31T09:00:00.123Z", NINE_MS + 123),
    ("2026-01-31T09:00:00.123999Z", NINE_MS + 123),
    ("2026-01-31T09:00:00.123999999Z", NINE_MS + 123),
    ("2026-01-31T09:00:00.999999999-00:00", NINE_MS + 999),
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01T01:00:00+01:00", 0),
    ("1969-12-31T19:00:00-05:00", 0),
    ("2024-02-29T00:00:00Z", 1_709_164_800_000),
    ("9999-12-31T23:59:59.999Z", LAST_TICK_MS),
]

REFUSED = [
    "",
    " ",
    "now",
    "tomorrow",
    "2026-01-31",
    "09:00:00Z",
    "2026-01-31T09:00Z",
    "2026-01-31T09Z",
    "2026-01-31T09:00:00",
    "2026-01-31T09:00:00 Z",
    "2026-01-31T09:00:00+05",
    "2026-01-31T09:00:00+0530",
    "2026-01-31T09:00:00+5:30",
    "2026-01-31T09:00:00+05:60",
    "2026-01-31T09:00:00+05:99",
    "2026-01-31T09:00:00+24:00",
    "2026-01-31T09:00:00-99:00",
    "2026-01-31T09:00:00+00:00:30",
    "2026-01-31T09:00:00UTC",
    "2026-01-31T09:00:00 UTC",
    "2026-01-31T09:00:00[Europe/Paris]",
    "2026-01-31T09:00:00+01:00[Europe/Paris]",
    "2026-01-31T09:00:00.Z",
    "2026-01-31T09:00:00,5Z",
    "2026-01-31T09:00:00.1234567890Z",
    "2026-01-31T24:00:00Z",
    "2026-01-31T09:60:00Z",
    "2026-01-31T09:00:60Z",
    "2016-12-31T23:59:60Z",
    "2026-02-29T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-32T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "26-01-31T09:00:00Z",
    "+2026-01-31T09:00:00Z",
    "-2026-01-31T09:00:00Z",
    "12026-01-31T09:00:00Z",
    "2026-1-31T09:00:00Z",
    "20260131T090000Z",
    "2026-W05-6T09:00:00Z",
    "2026-031T09:00:00Z",
    " 2026-01-31T09:00:00Z",
    "2026-01-31T09:00:00Z ",
    "2026-01-31T09:00:00Z\n",
    "2026-01-31\t09:00:00Z",
    "2026-01-31_09:00:00Z",
    "2026/01/31T09:00:00Z",
    "2026-01-31T09:00:00\u221205:00",
    "\u0662\u0660\u0662\u0666-01-31T09:00:00Z",
    "2026-01-31T09:00:00\uff3a",
    str(NINE_MS),
    "@1769850000",
]

IN_RANGE = st.integers(0, LAST_TICK_MS)


@pytest.mark.parametrize(("text", "ms"), ACCEPTED, ids=ascii)
def test_an_rfc_3339_instant_with_an_offset_is_read_to_the_millisecond(text: str, ms: int) -> None:
    assert to_ms(text, "start_at") == ms


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_anything_else_is_refused_by_naming_the_field(text: str) -> None:
    with pytest.raises(InvalidField, match=r"^start_at: must be an RFC 3339 instant with an offset") as refusal:
        to_ms(text, "start_at")
    assert refusal.value.field == "start_at"
    assert str(refusal.value).isascii()


@pytest.mark.parametrize(
    "value", [None, 0, NINE_MS, 1.5, True, b"2026-01-31T09:00:00Z", [], {}, datetime(2026, 1, 31, tzinfo=UTC)]
)
def test_a_value_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(InvalidField, match="RFC 3339"):
        to_ms(value, "until")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (NINE_MS, "2026-01-31T09:00:00Z"),
        (NINE_MS + 20, "2026-01-31T09:00:00.020Z"),
        (LAST_TICK_MS, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_is_written_in_utc_with_milliseconds_only_where_there_are_any(ms: int, text: str) -> None:
    assert to_rfc3339(ms) == text


@given(IN_RANGE)
def test_what_is_written_reads_back_to_the_same_millisecond(ms: int) -> None:
    assert to_ms(to_rfc3339(ms), "at") == ms


@given(IN_RANGE, st.integers(-1439, 1439))
def test_the_offset_an_instant_is_written_with_does_not_change_it(ms: int, minutes: int) -> None:
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    try:
        local += timedelta(minutes=minutes)
    except OverflowError:
        return
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    assert to_ms(f"{local.isoformat(timespec='milliseconds')[:-6]}{sign}{hours:02}:{rest:02}", "at") == ms


@given(IN_RANGE)
def test_the_datetime_of_an_instant_is_aware_and_exact(ms: int) -> None:
    moment = to_datetime(ms)
    assert moment.tzinfo is UTC
    assert (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == ms
    assert moment.microsecond % 1000 == 0


@given(st.text(max_size=40))
def test_no_text_makes_the_parser_raise_anything_but_its_own_error(text: str) -> None:
    with suppress(InvalidField):
        assert to_ms(text, "at") >= 0


@given(st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})", fullmatch=True))
def test_a_text_of_the_right_shape_is_an_instant_or_refused_and_never_another_instant(text: str) -> None:
    try:
        ms = to_ms(text, "at")
    except InvalidField:
        return
    assert ms == round(datetime.fromisoformat(text).timestamp() * 1000)
    assert text[:2] != "00"
