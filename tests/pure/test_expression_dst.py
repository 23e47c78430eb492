"""What happens to ticks on the days when clocks change, case by case."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from duly.common.expression import parse

HOUR_MS = 3_600_000


def instant(text: str) -> int:
    """Epoch milliseconds of an RFC 3339 text."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def ticks(spec: str, first: str, last: str) -> list[str]:
    """All ticks in the range, as local time with offset; found forwards, checked backwards and by count."""
    expression = parse(spec)
    first_ms, last_ms = instant(first), instant(last)
    found = []
    tick = expression.next_after(first_ms - 1)
    while tick is not None and tick <= last_ms:
        found.append(tick)
        tick = expression.next_after(tick)
    assert expression.most_recent(last_ms, len(found) + 1, first_ms) == found
    assert expression.count_between(first_ms, last_ms) == len(found)
    zone = ZoneInfo(expression.timezone)
    return [datetime.fromtimestamp(tick / 1000, zone).isoformat() for tick in found]


def test_a_time_that_new_york_skips_in_spring_is_skipped() -> None:
    found = ticks("CRON_TZ=America/New_York 30 2 * * *", "2026-03-07T00:00:00-05:00", "2026-03-10T00:00:00-04:00")
    assert found == ["2026-03-07T02:30:00-05:00", "2026-03-09T02:30:00-04:00"]


def test_a_time_that_new_york_repeats_in_autumn_fires_at_its_first_occurrence_only() -> None:
    found = ticks("CRON_TZ=America/New_York 30 1 * * *", "2026-10-31T00:00:00-04:00", "2026-11-03T00:00:00-05:00")
    assert found == ["2026-10-31T01:30:00-04:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]


def test_every_quarter_from_one_to_three_on_new_yorks_spring_day() -> None:
    found = ticks("CRON_TZ=America/New_York */15 1-2 * * *", "2026-03-08T00:00:00-05:00", "2026-03-08T12:00:00-04:00")
    assert found == [f"2026-03-08T01:{minute}:00-05:00" for minute in ("00", "15", "30", "45")]


def test_every_quarter_from_one_to_three_on_new_yorks_autumn_day() -> None:
    found = ticks("CRON_TZ=America/New_York */15 1-2 * * *", "2026-11-01T00:00:00-04:00", "2026-11-01T12:00:00-05:00")
    quarters = ("00", "15", "30", "45")
    first_time = [f"2026-11-01T01:{minute}:00-04:00" for minute in quarters]
    assert found == first_time + [f"2026-11-01T02:{minute}:00-05:00" for minute in quarters]


def test_every_second_goes_on_without_a_pause_over_the_spring_change() -> None:
    expression = parse("CRON_TZ=America/New_York * * * * * *")
    change = instant("2026-03-08T02:00:00-05:00")
    assert expression.next_after(change - 1000) == change
    assert expression.latest_at(change - 1, 0) == change - 1000
    assert expression.count_between(change - HOUR_MS, change + HOUR_MS - 1) == 7200


def test_every_second_rests_for_the_repeated_hour_of_the_autumn_change() -> None:
    expression = parse("CRON_TZ=America/New_York * * * * * *")
    change = instant("2026-11-01T02:00:00-04:00")
    resumed = change + HOUR_MS
    assert expression.next_after(change - 1000) == resumed
    assert expression.next_after(change + HOUR_MS // 2) == resumed
    assert expression.latest_at(resumed - 1, 0) == change - 1000
    assert expression.latest_at(resumed - 1, change) is None
    assert not expression.is_tick(change)
    assert expression.count_between(change - HOUR_MS, resumed + HOUR_MS - 1) == 7200


def test_a_missed_run_is_looked_for_before_the_repeated_hour_not_inside_it() -> None:
    expression = parse("CRON_TZ=America/New_York 50 1 * * *")
    in_second_pass = instant("2026-11-01T01:10:00-05:00")
    assert expression.latest_at(in_second_pass, 0) == instant("2026-11-01T01:50:00-04:00")


def test_apia_had_no_30_december_2011() -> None:
    found = ticks("CRON_TZ=Pacific/Apia 0 12 * * *", "2011-12-28T00:00:00-10:00", "2012-01-02T00:00:00+14:00")
    assert found == [
        "2011-12-28T12:00:00-10:00",
        "2011-12-29T12:00:00-10:00",
        "2011-12-31T12:00:00+14:00",
        "2012-01-01T12:00:00+14:00",
    ]
    assert ticks("CRON_TZ=Pacific/Apia 0 0 30 12 *", "2010-06-01T00:00Z", "2013-06-01T00:00Z") == [
        "2010-12-30T00:00:00-10:00",
        "2012-12-30T00:00:00+14:00",
    ]


def test_kwajalein_had_no_21_august_1993() -> None:
    found = ticks("CRON_TZ=Pacific/Kwajalein 0 6 * * *", "1993-08-20T00:00Z", "1993-08-22T12:00Z")
    assert found == ["1993-08-20T06:00:00-12:00", "1993-08-22T06:00:00+12:00"]


def test_lord_howe_changes_by_half_an_hour() -> None:
    rule = "CRON_TZ=Australia/Lord_Howe */10 1-2 * * *"
    spring = ticks(rule, "2026-10-04T01:30:00+10:30", "2026-10-04T03:00:00+11:00")
    assert spring == [f"2026-10-04T{time}" for time in ("01:30:00+10:30", "01:40:00+10:30", "01:50:00+10:30")] + [
        f"2026-10-04T02:{minute}:00+11:00" for minute in (30, 40, 50)
    ]
    autumn = ticks(rule, "2026-04-05T01:20:00+11:00", "2026-04-05T02:10:00+10:30")
    assert autumn == [f"2026-04-05T01:{minute}:00+11:00" for minute in (20, 30, 40, 50)] + [
        "2026-04-05T02:00:00+10:30",
        "2026-04-05T02:10:00+10:30",
    ]


def test_a_day_that_starts_at_one_has_no_midnight() -> None:
    found = ticks("CRON_TZ=America/Sao_Paulo 0 0 * * *", "2018-11-03T00:00:00-03:00", "2018-11-05T12:00:00-02:00")
    assert found == ["2018-11-03T00:00:00-03:00", "2018-11-05T00:00:00-02:00"]


def test_an_offset_that_is_no_whole_minute_moves_ticks_off_the_whole_minute() -> None:
    # Liberia kept 44 minutes and 30 seconds behind Greenwich until 7 January 1972.
    expression = parse("CRON_TZ=Africa/Monrovia */30 * * * *")
    change = instant("1972-01-07T00:44:30Z")
    assert expression.latest_at(change - 1, 0) == change - 30 * 60_000
    assert expression.next_after(change - 1) == instant("1972-01-07T01:00:00Z")


def test_a_tick_just_before_a_yearly_stretch_of_the_zone_table_is_not_lost_or_doubled() -> None:
    # Zones are looked up in stretches of 2**25 seconds; 1975-04-24 and 2026-01-07 lie on such borders.
    for border in (5 << 25, 1767 * 10**6 >> 25 << 25):
        for zone in ("UTC", "Europe/London", "Pacific/Kiritimati"):
            expression = parse(f"CRON_TZ={zone} * * * * * *")
            first = (border - 5) * 1000
            assert expression.most_recent((border + 5) * 1000, 99, first) == list(
                range(first, (border + 5) * 1000 + 1, 1000)
            )


@pytest.mark.parametrize(
    ("spec", "gap"),
    [
        # Ticks go on every five minutes: 01:55 EST is followed by 03:00 EDT, five minutes later.
        ("CRON_TZ=America/New_York */5 * * * *", timedelta(minutes=5)),
        ("CRON_TZ=America/New_York * * * * * *", timedelta(seconds=1)),
        # The day that loses an hour is the shortest.
        ("CRON_TZ=America/New_York 0 9 * * *", timedelta(hours=23)),
        ("CRON_TZ=America/New_York 0 1,3 * * *", timedelta(hours=1)),
        ("CRON_TZ=Australia/Lord_Howe 0 * * * *", timedelta(minutes=60)),
        # Half an hour now, but a whole one in the summer of 1981.
        ("CRON_TZ=Australia/Lord_Howe 0 1,3 * * *", timedelta(hours=1)),
        # Apia's lost day is between 29 and 31 December.
        ("CRON_TZ=Pacific/Apia 0 9 * * *", timedelta(hours=23)),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", timedelta(hours=24)),
        ("CRON_TZ=America/New_York 0 9 * * MON", timedelta(days=6)),
    ],
)
def test_the_smallest_gap_counts_the_hours_that_clocks_lose(spec: str, gap: timedelta) -> None:
    assert timedelta(milliseconds=parse(spec).smallest_gap_ms()) == gap
