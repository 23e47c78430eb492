"""Case files: what is one, what is written, what the schema says, and the ones that are shipped."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from duly.common.contract import (
    UNREADABLE,
    BackoffState,
    Case,
    Claim,
    Example,
    MalformedCase,
    decide,
    examples,
    read_case,
    schema,
    write_case,
)
from tests.pure.contract_cases import ABSENT, CALENDAR, DUE_MS, MANUAL, RETRY, STALE, change

ROOT = Path(__file__).parents[2]
DECIDED = {
    "01-outage-outcome-unclear": "HOLD_PRIOR_OUTCOME_UNKNOWN",
    "02-outage-reconciled": "BOUNDED_CATCH_UP_REVIEW_REQUIRED",
    "03-two-workers-one-lease": "HOLD_CONCURRENT_LEASE_CLAIM",
    "04-policy-unknown-after-restart": "HOLD_MISSED_RUN_POLICY_UNKNOWN",
    "05-lease-expired-outcome-unknown": "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN",
    "06-budget-spent-another-tick-due": "HOLD_RETRY_BUDGET_EXHAUSTED",
    "07-interval-policy-copied": "HOLD_POLICY_NOT_RECOMPUTED",
    "08-interval-restated": "INTERVAL_RUN_REVIEW_REQUIRED",
    "09-interval-tick-coalesced": "COALESCED_STALE_TICK",
    "10-calendar-on-time": "CALENDAR_RUN_REVIEW_REQUIRED",
    "11-not-due": "NOT_DUE",
    "12-retry-not-yet-due": "RETRY_NOT_YET_DUE",
    "13-already-committed": "ALREADY_COMMITTED",
}

MALFORMED: list[tuple[Any, str, str]] = [
    (None, "case", "must be an object"),
    ([], "case", "must be an object"),
    ("{}", "case", "must be an object"),
    ({}, "evidence", "is missing"),
    ({"evidence": {}}, "observed", "is missing"),
    ({"evidence": None, "observed": {}}, "evidence", "must be an object"),
    ({"evidence": {}, "observed": []}, "observed", "must be an object"),
    ({"evidence": {}, "observed": {}, "expected": "NOT_DUE"}, "case", "has no field expected"),
    ({"evidence": {"jobid": "docs"}, "observed": {}}, "evidence", "has no field jobid"),
    ({"evidence": {"now": "x"}, "observed": {}}, "evidence", "has no field now"),
    ({"evidence": {}, "observed": {"a\x1b[2J" + "x" * 500: 1}}, "observed", "has no field a\\x1b[2J"),
]


@pytest.mark.parametrize(("raw", "field", "problem"), MALFORMED)
def test_what_is_no_case_is_refused_by_naming_the_part(raw: Any, field: str, problem: str) -> None:
    with pytest.raises(MalformedCase) as refusal:
        read_case(raw)
    assert (refusal.value.code, refusal.value.field) == ("malformed_case", field)
    assert str(refusal.value).startswith(f"{field}: {problem}")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 100


@pytest.mark.parametrize("raw", [CALENDAR, RETRY, STALE, MANUAL, change(CALENDAR, later_tick=None)])
def test_a_case_survives_being_written_and_read(raw: dict[str, Any]) -> None:
    case = read_case(raw)
    assert write_case(case) == raw
    assert read_case(json.loads(json.dumps(write_case(case)))) == case


def test_an_unreadable_field_is_left_out_and_stays_unreadable() -> None:
    case = read_case(change(CALENDAR, attempt=True, now=None, trigger=1))
    written = write_case(case)
    assert "attempt" not in written["evidence"]
    assert "now" not in written["observed"]
    assert read_case(written).attempt is UNREADABLE


@pytest.mark.parametrize("name", ["trigger", "later_tick"])
def test_an_optional_field_that_cannot_be_read_does_not_become_its_default(name: str) -> None:
    case = read_case(change(CALENDAR, **{name: {}}))
    assert read_case(write_case(case)) == case
    assert decide(read_case(write_case(case))).decision.value == "HOLD_CHRONOLOGY_INVALID"


def test_instants_are_written_in_utc_whatever_their_offset_was() -> None:
    case = read_case(change(CALENDAR, now="2026-03-03T03:00:10.250+01:00"))
    assert write_case(case)["observed"]["now"] == "2026-03-03T02:00:10.250Z"


def test_a_case_is_made_of_milliseconds_and_words() -> None:
    case = read_case(RETRY)
    assert isinstance(case, Case)
    assert (case.occurrence_ms, case.jitter_window_ms, case.attempt) == (DUE_MS, 60_000, 2)
    assert case.backoff_state == BackoffState(1_000, DUE_MS + 9_000)
    assert case.lease_claims == (Claim("lease-1", "worker-a", DUE_MS + 40_000),)


def check(value: Any, shape: dict[str, Any], where: str = "") -> list[str]:
    """Where a value breaks a schema; knows only the words that ours uses, and says when it meets another."""
    known = {"$schema", "title", "description", "format"}
    wrong: list[str] = []
    types = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    for word, rule in shape.items():
        if word == "type":
            fine = isinstance(value, types[rule]) and not isinstance(value, bool)
        elif word == "enum":
            fine = value in rule
        elif word == "anyOf":
            fine = any(not check(value, each) for each in rule)
        elif word == "pattern":
            fine = not isinstance(value, str) or re.search(rule, value) is not None
        elif word in {"minLength", "maxLength"}:
            fine = not isinstance(value, str) or (len(value) >= rule if word == "minLength" else len(value) <= rule)
        elif word in {"minimum", "maximum"}:
            fine = not isinstance(value, int) or (value >= rule if word == "minimum" else value <= rule)
        elif word == "required":
            fine = not isinstance(value, dict) or set(rule) <= set(value)
        elif word == "additionalProperties":
            fine = not isinstance(value, dict) or set(value) <= set(shape["properties"])
        elif word == "properties":
            items = value.items() if isinstance(value, dict) else ()
            wrong += [each for name, v in items if name in rule for each in check(v, rule[name], f"{where}.{name}")]
            continue
        elif word == "items":
            wrong += [each for v in value if isinstance(value, list) for each in check(v, rule, f"{where}[]")]
            continue
        else:
            assert word in known, word
            continue
        wrong += [] if fine else [f"{where}: {word}"]
    return wrong


@pytest.mark.parametrize("example", examples(), ids=lambda each: each.name)
def test_each_shipped_example_is_decided_as_its_name_says(example: Example) -> None:
    assert decide(example.case).decision.value == DECIDED[example.name]


def test_the_examples_come_in_the_order_in_which_they_are_told() -> None:
    assert [each.name for each in examples()] == list(DECIDED)


def test_every_way_on_and_the_lesson_s_holds_are_among_the_examples() -> None:
    assert {code for code in DECIDED.values() if not code.startswith("HOLD_")} == {
        "CALENDAR_RUN_REVIEW_REQUIRED",
        "BOUNDED_CATCH_UP_REVIEW_REQUIRED",
        "INTERVAL_RUN_REVIEW_REQUIRED",
        "COALESCED_STALE_TICK",
        "NOT_DUE",
        "RETRY_NOT_YET_DUE",
        "ALREADY_COMMITTED",
    }


@pytest.mark.parametrize("example", examples(), ids=lambda each: each.name)
def test_each_shipped_example_fits_the_schema_and_tells_no_decision(example: Example) -> None:
    content = json.loads(example.text)
    assert check(content, schema()) == []
    assert "REVIEW_REQUIRED" not in example.text
    assert "HOLD_" not in example.text
    if importlib.util.find_spec("jsonschema"):
        validator = importlib.import_module("jsonschema").Draft202012Validator
        validator.check_schema(schema())
        validator(schema()).validate(content)


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"attempt": 1.5}, ".evidence.attempt: type"),
        ({"attempt": 0}, ".evidence.attempt: minimum"),
        ({"job_id": "a b"}, ".evidence.job_id: pattern"),
        ({"run_state": "DONE"}, ".evidence.run_state: enum"),
        ({"review_owner": None}, ".evidence.review_owner: type"),
        ({"review_owner": ABSENT}, ".evidence: required"),
        ({"lease_claims": ABSENT}, ".observed: required"),
        ({"note": 1}, ".evidence: additionalProperties"),
        ({"last_run_at": "yesterday"}, ".evidence.last_run_at: anyOf"),
        ({"backoff_state": {"delay_ms": 1}}, ".evidence.backoff_state: anyOf"),
        ({"lease_claims": [{}]}, ".observed.lease_claims[]: required"),
    ],
)
def test_the_schema_finds_what_would_hold(changes: dict[str, Any], where: str) -> None:
    assert where in check(change(CALENDAR, **changes), schema())


def test_the_schema_describes_every_field() -> None:
    parts = schema()["properties"]
    assert [len(parts[name]["required"]) for name in ("evidence", "observed")] == [18, 5]
    assert set(parts["observed"]["properties"]) - set(parts["observed"]["required"]) == {"trigger", "later_tick"}
    for part in parts.values():
        assert all(each["title"] and each["description"] for each in part["properties"].values())


def test_the_examples_travel_in_the_wheel(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed; 'make test' installs it")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"duly/common/contract/examples/{name}.json" for name in DECIDED} <= names


def test_the_contract_stands_alone() -> None:
    program = "import sys, duly.common.contract; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not {"redis", "rq", "click", "rich", "pydantic", "duly.common.store", "duly.common.clock"} & set(loaded)
