"""Names: schedule ids, occurrences, jobs, idempotency keys, and the canonical JSON behind them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.common import identity
from duly.common.errors import InvalidField
from duly.common.identity import LAST_TICK_MS, Occurrence, canonical_json, check_schedule_id, check_tick_ms

SCHEDULE_IDS = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
TICKS = st.integers(0, LAST_TICK_MS)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
TICK_MS = 1_767_225_600_000


@pytest.mark.parametrize("text", ["a", "0", "docs", "docs-refresh", "a_b-c", "9lives", "a-", "a_", "a" * 64])
def test_a_schedule_id_is_small_letters_digits_underscores_and_hyphens(text: str) -> None:
    assert check_schedule_id(text) == text


@pytest.mark.parametrize(
    "value",
    [
        *("", "-a", "_a", "A", "Docs", "a" * 65, "a b", " a", "a ", "a\n", "\na", "a.b", "a:b", "a/b", "a@b", "a*"),
        *("{a}", "a\x00", "caf\u00e9", "\u0430bc", "\u0661", "a\u200b", "\ud800", None, 1, True, b"a", ["a"], {"a": 1}),
    ],
    ids=ascii,
)
def test_anything_else_is_no_schedule_id(value: object) -> None:
    with pytest.raises(InvalidField, match=r"^schedule_id: must be 1-64 characters") as refusal:
        check_schedule_id(value)
    assert refusal.value.field == "schedule_id"


@pytest.mark.parametrize(("value", "tick_ms"), [(0, 0), ("0", 0), (TICK_MS, TICK_MS), (str(TICK_MS), TICK_MS)])
def test_a_tick_is_a_number_of_milliseconds_or_its_digits(value: object, tick_ms: int) -> None:
    assert check_tick_ms(value) == tick_ms


@pytest.mark.parametrize(
    "value",
    [
        *(-1, "-1", "+1", "", " 1", "1 ", "1\n", "1.0", 1.0, "1e3", "0x10", "1_000", "\u0661", "\u00b2", None, True),
        *(LAST_TICK_MS + 1, "9" * 16, "9" * 5000, [], "2026-01-01T00:00:00Z"),
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_anything_else_is_no_tick(value: object) -> None:
    with pytest.raises(InvalidField, match=r"^tick_ms: must be an instant in epoch milliseconds"):
        check_tick_ms(value)


def test_the_last_tick_is_the_last_instant_that_can_be_written() -> None:
    assert check_tick_ms(LAST_TICK_MS) == LAST_TICK_MS


@given(SCHEDULE_IDS, TICKS)
def test_an_occurrence_reads_back_from_its_written_form(schedule_id: str, tick_ms: int) -> None:
    occurrence = Occurrence(schedule_id, tick_ms)
    assert str(occurrence) == f"{schedule_id}@{tick_ms}"
    assert Occurrence.parse(str(occurrence)) == occurrence


@pytest.mark.parametrize("text", ["", "@", "a", "a@", "@1", "a@b", "a@-1", "a@1@2", "A@1", "a@1.5", "a @1", "a@1\n"])
def test_a_text_that_names_no_occurrence_is_refused(text: str) -> None:
    with pytest.raises(InvalidField):
        Occurrence.parse(text)


def test_occurrences_sort_by_schedule_and_then_by_tick() -> None:
    assert sorted([Occurrence("b", 1), Occurrence("a", 20), Occurrence("a", 3)]) == [
        Occurrence("a", 3),
        Occurrence("a", 20),
        Occurrence("b", 1),
    ]


@given(SCHEDULE_IDS, TICKS, st.integers(1, 10_000))
def test_a_job_id_has_only_characters_that_rq_allows(schedule_id: str, tick_ms: int, attempt: int) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", identity.job_id(Occurrence(schedule_id, tick_ms), attempt))


@given(st.tuples(SCHEDULE_IDS, TICKS, st.integers(1, 100)), st.tuples(SCHEDULE_IDS, TICKS, st.integers(1, 100)))
def test_different_attempts_never_share_a_job_id(one: tuple[str, int, int], other: tuple[str, int, int]) -> None:
    ids = {identity.job_id(Occurrence(name, tick), attempt) for name, tick, attempt in (one, other)}
    assert len(ids) == len({one, other})


def test_a_schedule_named_like_the_end_of_a_job_id_does_not_take_anothers_jobs() -> None:
    assert identity.job_id(Occurrence("a", 1), 2) != identity.job_id(Occurrence("a-1", 2), 2)
    assert identity.job_id(Occurrence("a", 12), 3) != identity.job_id(Occurrence("a", 1), 23)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, 1.5]}, '{"a":[true,null,1.5],"b":1}'),
        ([], "[]"),
        ("caf\u00e9 \u2028", '"caf\\u00e9 \\u2028"'),
        ("\U0001f600", '"\\ud83d\\ude00"'),
        ({"z": {"y": 2, "x": 1}}, '{"z":{"x":1,"y":2}}'),
    ],
)
def test_canonical_json_is_sorted_ascii_and_without_spaces(value: object, text: str) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")], {"a": {"b": float("nan")}}])
def test_canonical_json_refuses_what_json_cannot_say(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)


@given(JSON_VALUES)
def test_canonical_json_keeps_the_value_and_depends_on_nothing_else(value: Any) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
    assert text.isascii()
    assert text.isprintable()


@given(st.dictionaries(st.text(max_size=6), JSON_VALUES, max_size=5))
def test_the_order_of_keyword_arguments_does_not_change_the_work(kwargs: dict[str, Any]) -> None:
    turned = dict(reversed(list(kwargs.items())))
    assert identity.work_digest("t", [], kwargs) == identity.work_digest("t", [], turned)


def test_the_digest_tells_apart_whatever_the_task_would_see_differently() -> None:
    works: list[tuple[str, list[Any], dict[str, Any]]] = [
        ("t", [], {}),
        ("u", [], {}),
        ("t", [1], {}),
        ("t", ["1"], {}),
        ("t", [1.0], {}),
        ("t", [True], {}),
        ("t", [[1]], {}),
        ("t", [1, 2], {}),
        ("t", [2, 1], {}),
        ("t", [None], {}),
        ("t", [], {"a": 1}),
        ("t", [], {"a": None}),
        ("t", [{"a": 1}], {}),
    ]
    digests = {identity.work_digest(*work) for work in works}
    assert len(digests) == len(works)
    assert all(re.fullmatch(r"[0-9a-f]{16}", digest) for digest in digests)


def test_an_idempotency_key_names_the_occurrence_and_the_work() -> None:
    digest = identity.work_digest("docs.refresh", [], {"path": "docs"})
    key = identity.idempotency_key(Occurrence("docs", TICK_MS), digest)
    assert key == f"docs@{TICK_MS}:{digest}"


def test_the_digest_of_known_work_is_what_it_was_in_the_first_release() -> None:
    # Whoever stored a key must find it again after an upgrade.
    assert identity.work_digest("docs.refresh", [1, "a"], {"path": "docs", "deep": True}) == "d15222904f8e9e24"
    assert identity.stable_hash(f"docs@{TICK_MS}") == 3837220636239386330


def test_hashes_are_the_same_in_every_process() -> None:
    code = (
        "from duly.common import identity as i;"
        "print(i.stable_hash('docs@1'), i.work_digest('t', [1], {'b': 1, 'a': 2}))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert printed == {f"{identity.stable_hash('docs@1')} {identity.work_digest('t', [1], {'a': 2, 'b': 1})}\n"}


def test_tokens_are_fresh_long_and_hexadecimal() -> None:
    tokens = {identity.new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(re.fullmatch(r"[0-9a-f]{32}", token) for token in tokens)
