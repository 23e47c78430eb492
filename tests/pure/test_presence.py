"""What is said of a process rests on when it was seen and on who holds the duty, not on its own last word."""

from __future__ import annotations

from typing import Any

import pytest

from duly.common.explain.presence import UNSEEN_AFTER_MS, is_there, present, state, state_in_words, told_fleet


def process(name: str = "a.s", role: str = "scheduler", said: str = "holding", seen_ms_ago: int = 0) -> dict[str, Any]:
    return {"name": name, "role": role, "state": said, "seen_ms_ago": seen_ms_ago}


@pytest.mark.parametrize(
    ("found", "holder", "word"),
    [
        (process(), "a.s", "holding"),
        (process(), "b.s", "standby"),
        (process(), None, "standby"),
        (process(said="standby"), "a.s", "holding"),
        (process(said="standby"), "b.s", "standby"),
        (process("a.1", "worker", "busy"), "a.s", "busy"),
        (process("a.1", "worker", "busy", UNSEEN_AFTER_MS), "a.s", "busy"),
        (process("a.1", "worker", "busy", UNSEEN_AFTER_MS + 1), "a.s", "unseen"),
        (process(seen_ms_ago=UNSEEN_AFTER_MS + 1), "a.s", "unseen"),
    ],
)
def test_only_the_holder_holds_and_only_who_was_seen_is_busy(
    found: dict[str, Any], holder: str | None, word: str
) -> None:
    assert state(found, holder) == word


def test_a_silent_process_is_told_by_how_long_it_is_silent_and_is_not_counted() -> None:
    silent, well = process(seen_ms_ago=40_123), process("b.s", said="standby", seen_ms_ago=9)
    assert state_in_words(silent, "b.s") == "not seen for 40 s"
    assert state_in_words(well, "b.s") == "holding"
    assert present([silent, well]) == [well]
    assert not is_there(silent)


def test_the_fleet_is_told_with_these_words_and_otherwise_as_it_is() -> None:
    snapshot = {"duty": {"holder": "b.s"}, "lag_ms": 3, "workers": [process(), process("b.s", said="standby")]}
    told = told_fleet(snapshot)
    assert [each["state"] for each in told["workers"]] == ["standby", "holding"]
    assert told["lag_ms"] == 3
