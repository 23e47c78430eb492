"""The log that the fleet's tests believe: what stands in it is whole, whoever reads it or kills its writers."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from tests.fleet import effects_log


def test_no_line_reaches_over_the_end_of_a_page(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(20):
        effects_log.append(log, {"number": number, "words": "x" * number})
    assert {len(line) for line in log.read_bytes().splitlines(keepends=True)} == {effects_log.LINE_BYTES}
    assert mmap.PAGESIZE % effects_log.LINE_BYTES == 0
    assert [line["number"] for line in effects_log.read(log)] == list(range(20))


def test_a_line_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    effects_log.append(tmp_path / "log", {"words": "x" * 498})
    with pytest.raises(AssertionError, match="a line of the effects log holds 511 bytes"):
        effects_log.append(tmp_path / "log", {"words": "x" * 499})
    assert len(effects_log.read(tmp_path / "log")) == 1
