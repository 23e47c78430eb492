"""The table of spans is what the zone database says, read here straight from its files."""

from __future__ import annotations

import struct
import zoneinfo
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

import pytest

from duly.common.expression.base import HORIZON_S
from duly.common.expression.zone import _PROBE_S, Span, zone

ODD_ZONES = [
    "Africa/Casablanca",
    "Africa/Monrovia",
    "America/Noronha",
    "America/New_York",
    "Antarctica/Casey",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Pacific/Apia",
    "Pacific/Kwajalein",
]
END_OF_LISTED_CHANGES = 2_114_380_800  # 2037-01-01; from then on most files only give a rule


def file_of(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        if (path := Path(folder, name)).is_file():
            return path.read_bytes()
    return resources.files("tzdata.zoneinfo").joinpath(name).read_bytes()


@cache
def changes_in_file(name: str) -> list[tuple[int, int]]:
    """The (instant, new offset) pairs of the 64-bit block of a TZif file that change the offset; RFC 9636."""
    data = file_of(name)
    sizes = struct.unpack(">6l", data[20:44])
    start = 44 + sizes[3] * 5 + sizes[4] * 6 + sizes[5] + sizes[2] * 8 + sizes[0] + sizes[1]
    _, _, _, count, types, _ = struct.unpack(">6l", data[start + 20 : start + 44])
    at, kinds = start + 44, start + 44 + 8 * count
    instants = struct.unpack(f">{count}q", data[at:kinds])
    records = kinds + count
    offsets = [struct.unpack(">l", data[records + 6 * n : records + 6 * n + 4])[0] for n in range(types)]
    steps = [(instant, offsets[kind]) for instant, kind in zip(instants, data[kinds:records], strict=True)]
    return [after for before, after in pairwise(steps) if before[1] != after[1]]


def spans(name: str, start: int, end: int) -> list[Span]:
    found = []
    while start < end:
        found.append(zone(name).span_at(start))
        start = found[-1].end
    return found


@pytest.mark.parametrize("name", ODD_ZONES)
def test_spans_change_offset_exactly_when_the_zone_file_says(name: str) -> None:
    in_table = [
        (after.start, after.offset)
        for before, after in pairwise(spans(name, 0, END_OF_LISTED_CHANGES))
        if before.offset != after.offset
    ]
    in_file = [change for change in changes_in_file(name) if change[0] > 0]
    listed = [change for change in in_table if change[0] < END_OF_LISTED_CHANGES]
    assert listed == [change for change in in_file if change[0] < END_OF_LISTED_CHANGES]


def test_no_zone_keeps_an_offset_for_so_short_a_time_that_probing_could_miss_it() -> None:
    names = zoneinfo.available_timezones() - {"localtime", "Factory"}
    shortest = min(
        later[0] - earlier[0]
        for name in names
        for earlier, later in pairwise(changes_in_file(name))
        if earlier[0] > -_PROBE_S
    )
    assert shortest > 2 * _PROBE_S


@pytest.mark.parametrize("name", [*ODD_ZONES, "UTC", "Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize("start", [0, 1_300_000_000, HORIZON_S - 100_000_000])
def test_spans_meet_without_a_hole_and_no_local_second_is_fresh_twice(name: str, start: int) -> None:
    end = min(start + 200_000_000, HORIZON_S)
    for before, after in pairwise(spans(name, start, end)):
        assert before.start < before.end == after.start
        assert after.fresh >= before.end + before.offset
        assert after.fresh == max(after.start + after.offset, before.end + before.offset)
    assert zone(name).span_at(HORIZON_S - 1).end == HORIZON_S


def test_forward_jumps_give_the_local_time_of_day_and_the_length() -> None:
    assert zone("Asia/Tokyo").forward_jumps() == zone("UTC").forward_jumps() == frozenset()
    assert zone("America/New_York").forward_jumps() == {(2 * 3600, 3600)}
    assert zone("Asia/Kathmandu").forward_jumps() == {(0, 15 * 60)}
    assert (0, 86_400) in zone("Pacific/Apia").forward_jumps()
