"""Schedule definitions: what each field may hold, and what is said of one that may not be written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from duly.common.errors import InvalidField
from duly.common.records.definition import (
    MAX_ARGUMENT_BYTES,
    MAX_NESTING,
    MissedRunPolicy,
    ScheduleDefinition,
    define,
)

DAY_MS = 86_400_000
MINIMAL: dict[str, Any] = {
    "schedule_id": "docs",
    "spec": "@every:60000",
    "task": "docs.refresh",
    "missed_run_policy": "run_once",
    "review_owner": "ops@example.com",
}
FULL: dict[str, Any] = {
    "schedule_id": "billing-report_2",
    "spec": "CRON_TZ=America/New_York 0 9 * * MON-FRI",
    "task": "billing.report:daily-v2",
    "args": [1, "two", None, True, 1.5, ["nested"], {"deep": {"er": []}}],
    "kwargs": {"path": "docs", "caf\u00e9": "\u00fc", "none": None},
    "queue": "slow.lane-1",
    "missed_run_policy": "backfill",
    "backfill_limit": 24,
    "max_lateness_ms": 3_600_000,
    "jitter_window_ms": 30_000,
    "overlap": "buffer_one",
    "lease_ttl_ms": 15_000,
    "timeout_ms": 600_000,
    "retry_budget": 5,
    "backoff": {"base_ms": 500, "factor": 1.5, "max_ms": 60_000},
    "review_owner": "Zo\u00eb \u2013 billing team",
    "approval": "automatic",
    "start_at": "2026-02-01T00:00:00+01:00",
    "end_at": "2027-02-01T00:00:00.250Z",
}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def with_field(field: str, value: Any) -> dict[str, Any]:
    return {**MINIMAL, field: value}


# --- what is accepted


def test_five_fields_are_enough_and_the_others_have_the_documented_defaults() -> None:
    assert define(MINIMAL).model_dump(mode="json") == {
        **MINIMAL,
        "args": [],
        "kwargs": {},
        "queue": "default",
        "backfill_limit": None,
        "max_lateness_ms": None,
        "jitter_window_ms": 0,
        "overlap": "skip",
        "lease_ttl_ms": 30_000,
        "timeout_ms": 300_000,
        "retry_budget": 3,
        "backoff": {"base_ms": 1_000, "factor": 2.0, "max_ms": 300_000},
        "approval": "automatic",
        "start_at": None,
        "end_at": None,
    }


def test_every_field_keeps_what_was_written_but_bounds_which_are_written_in_utc() -> None:
    assert define(FULL).model_dump(mode="json") == {
        **FULL,
        "start_at": "2026-01-31T23:00:00Z",
        "end_at": "2027-02-01T00:00:00.250Z",
    }


ACCEPTED = [
    ("schedule_id", "a"),
    ("schedule_id", "9" * 64),
    ("spec", "* * * * *"),
    ("spec", "0 30 9 * * *"),
    ("spec", "@every:100"),
    ("spec", "  0 9 * * *  "),
    ("task", "t"),
    ("task", "_private.Task-1:x"),
    ("task", "t" * 128),
    ("args", nested(MAX_NESTING)),
    ("args", ["x" * (MAX_ARGUMENT_BYTES - 4 - 2)]),
    ("args", ["\u202e", "\x00", "\ud800"]),
    ("args", [2**70, -1, 0.1]),
    ("kwargs", {"": "an empty name", "with space": 1}),
    ("queue", "q" * 64),
    ("missed_run_policy", "skip"),
    ("max_lateness_ms", 1),
    ("max_lateness_ms", 366 * DAY_MS),
    ("max_lateness_ms", None),
    ("jitter_window_ms", 59_999),
    ("overlap", "allow"),
    ("lease_ttl_ms", 1_000),
    ("lease_ttl_ms", 3_600_000),
    ("timeout_ms", 100),
    ("timeout_ms", 7 * DAY_MS),
    ("retry_budget", 1),
    ("retry_budget", 100),
    ("backoff", {}),
    ("backoff", {"base_ms": 0, "max_ms": 0}),
    ("backoff", {"factor": 1}),
    ("backoff", {"factor": 100.0}),
    ("backoff", {"base_ms": DAY_MS, "max_ms": 7 * DAY_MS}),
    ("review_owner", "x" * 200),
    ("review_owner", "\u5f20\u4f1f"),
    ("approval", "automatic"),
    ("approval", "required"),
    ("start_at", "1970-01-01T00:00:00Z"),
    ("end_at", "9999-12-31T23:59:59Z"),
]


@pytest.mark.parametrize(("field", "value"), ACCEPTED, ids=lambda value: ascii(value)[:40])
def test_a_value_at_the_edge_of_what_a_field_may_hold_is_accepted(field: str, value: Any) -> None:
    wanted = {"base_ms": 1_000, "factor": 2.0, "max_ms": 300_000} | value if field == "backoff" else value
    assert define(with_field(field, value)).model_dump(mode="json")[field] == wanted


@pytest.mark.parametrize("limit", [1, 24, 1000])
def test_backfill_takes_a_limit_from_1_to_1000(limit: int) -> None:
    definition = define({**MINIMAL, "missed_run_policy": "backfill", "backfill_limit": limit})
    assert definition.backfill_limit == limit
    assert definition.policy is MissedRunPolicy.BACKFILL
    assert not definition.policy.coalesces


@pytest.mark.parametrize("policy", ["skip", "run_once"])
def test_policies_that_run_only_the_latest_tick_coalesce(policy: str) -> None:
    assert define(with_field("missed_run_policy", policy)).policy.coalesces


def test_spaces_around_the_review_owner_do_not_count() -> None:
    assert define(with_field("review_owner", "  ops  ")).review_owner == "ops"


# --- what is refused

JSON_ONLY = "must hold nothing but JSON values"
NUMBER = "input should be a valid integer"
TEXT = "input should be a valid string"
SCHEDULE_ID = "must be 1-64 characters of a-z"
TASK = "must be a registered task name"
QUEUE = "must be 1-64 letters"
ONE_LINE = "must be one line without control or direction characters"
RFC3339 = "must be an RFC 3339 instant with an offset"

REFUSED: list[tuple[str, Any, str]] = [
    # schedule_id
    ("schedule_id", "", SCHEDULE_ID),
    ("schedule_id", "-docs", SCHEDULE_ID),
    ("schedule_id", "_docs", SCHEDULE_ID),
    ("schedule_id", "Docs", SCHEDULE_ID),
    ("schedule_id", "a" * 65, SCHEDULE_ID),
    ("schedule_id", "a b", SCHEDULE_ID),
    ("schedule_id", "a.b", SCHEDULE_ID),
    ("schedule_id", "a@1", SCHEDULE_ID),
    ("schedule_id", "a:b", SCHEDULE_ID),
    ("schedule_id", "docs\n", SCHEDULE_ID),
    ("schedule_id", "caf\u00e9", SCHEDULE_ID),
    ("schedule_id", None, TEXT),
    ("schedule_id", 7, TEXT),
    ("schedule_id", b"docs", TEXT),
    # spec: its own tests are thorough; here that its errors come through, by field
    ("spec", "", "spec: write 5 fields"),
    ("spec", "@daily", "spec: macros are not accepted"),
    ("spec", "* * * *", "spec: write 5 fields"),
    ("spec", "0 0 0 1 1 * 2030", "spec: write 5 fields"),
    ("spec", "0 0 30 2 *", "spec.day_of_month: this date never comes"),
    ("spec", "60 * * * *", "spec.minute: 60 is out of range"),
    ("spec", "0 9 * * L", "spec.day_of_week: "),
    ("spec", "H H * * *", "spec.minute: "),
    ("spec", "CRON_TZ=Mars/Olympus 0 9 * * *", "spec.timezone: "),
    ("spec", "TZ=Europe/Paris 0 9 * * *", "spec.timezone: "),
    ("spec", "CRON_TZ=Europe/Paris @every:60000", "spec.timezone: "),
    ("spec", "@every:0", "spec.interval: "),
    ("spec", "@every:99", "spec.interval: "),
    ("spec", "@every:1m", "spec.interval: "),
    ("spec", "* * * * *" + " " * 120, "spec: write at most 128 characters"),
    ("spec", "0\u00a09 * * *", "spec: leave out"),
    ("spec", "\u202e0 9 * * *", "spec: leave out"),
    ("spec", None, TEXT),
    ("spec", 60_000, TEXT),
    ("spec", ["* * * * *"], TEXT),
    # task
    ("task", "", TASK),
    ("task", "1task", TASK),
    ("task", ".task", TASK),
    ("task", "a b", TASK),
    ("task", "a/b", TASK),
    ("task", "task\n", TASK),
    ("task", "t" * 129, TASK),
    ("task", "\u0430dmin", TASK),
    ("task", "os.system('x')", TASK),
    ("task", None, TEXT),
    ("task", print, TEXT),
    # args and kwargs
    ("args", {}, "must be a JSON array"),
    ("args", "abc", "must be a JSON array"),
    ("args", (1, 2), "must be a JSON array"),
    ("args", 1, "must be a JSON array"),
    ("args", False, "must be a JSON array"),
    ("args", None, "input should be a valid list"),
    ("args", [float("nan")], JSON_ONLY),
    ("args", [float("inf")], JSON_ONLY),
    ("args", [{"a": [float("-inf")]}], JSON_ONLY),
    ("args", [print], JSON_ONLY),
    ("args", [b"bytes"], JSON_ONLY),
    ("args", [{1, 2}], JSON_ONLY),
    ("args", [(1, 2)], JSON_ONLY),
    ("args", [{1: "a"}], JSON_ONLY),
    ("args", [{None: "a"}], JSON_ONLY),
    ("args", [{True: "a"}], JSON_ONLY),
    ("args", nested(MAX_NESTING + 1), "must not be nested deeper than 64 levels"),
    ("args", ["x" * MAX_ARGUMENT_BYTES], "args and kwargs may take 64 KiB"),
    ("args", ["\u00e9" * (MAX_ARGUMENT_BYTES // 6 + 1)], "args and kwargs may take 64 KiB"),
    ("kwargs", [], "must be a JSON object"),
    ("kwargs", "{}", "must be a JSON object"),
    ("kwargs", 0, "must be a JSON object"),
    ("kwargs", None, "input should be a valid dictionary"),
    ("kwargs", {"a": float("nan")}, JSON_ONLY),
    ("kwargs", {"a": {"b": {1: 2}}}, JSON_ONLY),
    ("kwargs", {1: "a"}, JSON_ONLY),
    ("kwargs", {b"a": 1}, JSON_ONLY),
    ("kwargs", {"a": 1, 2: 2}, JSON_ONLY),
    ("kwargs", {"a": nested(MAX_NESTING)}, "must not be nested deeper than 64 levels"),
    ("kwargs", {"a": "x" * MAX_ARGUMENT_BYTES}, "args and kwargs may take 64 KiB"),
    ("kwargs", {"k" * MAX_ARGUMENT_BYTES: 1}, "args and kwargs may take 64 KiB"),
    # queue
    ("queue", "", QUEUE),
    ("queue", "a b", QUEUE),
    ("queue", "a:b", QUEUE),
    ("queue", "a\x00", QUEUE),
    ("queue", "q" * 65, QUEUE),
    ("queue", None, TEXT),
    # missed_run_policy and backfill_limit
    ("missed_run_policy", "", "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", "SKIP", "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", "run-once", "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", "SINGLE_BOUNDED_CATCH_UP", "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", None, "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", True, "input should be 'skip', 'run_once' or 'backfill'"),
    ("missed_run_policy", "backfill", "backfill_limit: is required with missed_run_policy 'backfill'"),
    ("backfill_limit", 5, "goes with missed_run_policy 'backfill' only"),
    ("backfill_limit", 0, "greater than or equal to 1"),
    ("backfill_limit", 1001, "less than or equal to 1000"),
    ("backfill_limit", "5", NUMBER),
    ("backfill_limit", True, NUMBER),
    # numbers
    ("max_lateness_ms", 0, "greater than or equal to 1"),
    ("max_lateness_ms", -1, "greater than or equal to 1"),
    ("max_lateness_ms", 366 * DAY_MS + 1, "less than or equal to"),
    ("max_lateness_ms", "1000", NUMBER),
    ("max_lateness_ms", 1000.0, NUMBER),
    ("max_lateness_ms", True, NUMBER),
    ("jitter_window_ms", -1, "greater than or equal to 0"),
    ("jitter_window_ms", 60_000, "must be smaller than the smallest gap between ticks, 60000 ms"),
    ("jitter_window_ms", 366 * DAY_MS + 1, "less than or equal to"),
    ("jitter_window_ms", "0", NUMBER),
    ("jitter_window_ms", 0.5, NUMBER),
    ("jitter_window_ms", None, NUMBER),
    ("jitter_window_ms", False, NUMBER),
    ("lease_ttl_ms", 999, "greater than or equal to 1000"),
    ("lease_ttl_ms", 3_600_001, "less than or equal to 3600000"),
    ("lease_ttl_ms", 2**63, "less than or equal to 3600000"),
    ("lease_ttl_ms", 10**30, "less than or equal to 3600000"),
    ("lease_ttl_ms", "30000", NUMBER),
    ("lease_ttl_ms", float("inf"), "input should be a"),
    ("lease_ttl_ms", None, NUMBER),
    ("timeout_ms", 99, "greater than or equal to 100"),
    ("timeout_ms", 7 * DAY_MS + 1, "less than or equal to"),
    ("timeout_ms", 3e5, NUMBER),
    ("timeout_ms", float("nan"), "input should be a"),
    ("timeout_ms", None, NUMBER),
    ("retry_budget", 0, "greater than or equal to 1"),
    ("retry_budget", 101, "less than or equal to 100"),
    ("retry_budget", -3, "greater than or equal to 1"),
    ("retry_budget", "3", NUMBER),
    ("retry_budget", True, NUMBER),
    ("retry_budget", None, NUMBER),
    # backoff
    ("backoff", None, "input should be a valid dictionary"),
    ("backoff", 1000, "input should be a valid dictionary"),
    ("backoff", [1000, 2, 300_000], "input should be a valid dictionary"),
    ("backoff", "exponential", "input should be a valid dictionary"),
    ("backoff", {"base": 1000}, "backoff.base: is not a field of a schedule"),
    ("backoff", {"base_ms": -1}, "backoff.base_ms: input should be greater than or equal to 0"),
    ("backoff", {"base_ms": "1000"}, f"backoff.base_ms: {NUMBER}"),
    ("backoff", {"base_ms": True}, f"backoff.base_ms: {NUMBER}"),
    ("backoff", {"base_ms": DAY_MS + 1}, "backoff.base_ms: input should be less than or equal to"),
    ("backoff", {"factor": 0.5}, "backoff.factor: input should be greater than or equal to 1"),
    ("backoff", {"factor": 101}, "backoff.factor: input should be less than or equal to 100"),
    ("backoff", {"factor": float("nan")}, "backoff.factor: input should be a finite number"),
    ("backoff", {"factor": float("inf")}, "backoff.factor: input should be"),
    ("backoff", {"factor": "2"}, "backoff.factor: input should be a valid number"),
    ("backoff", {"factor": True}, "backoff.factor: input should be a valid number"),
    ("backoff", {"max_ms": 7 * DAY_MS + 1}, "backoff.max_ms: input should be less than or equal to"),
    ("backoff", {"max_ms": None}, f"backoff.max_ms: {NUMBER}"),
    ("backoff", {"max_ms": 999}, "backoff.max_ms: must not be smaller than backoff.base_ms"),
    # choices
    ("overlap", "queue", "input should be 'skip', 'buffer_one' or 'allow'"),
    ("overlap", "buffer-one", "input should be 'skip', 'buffer_one' or 'allow'"),
    ("overlap", None, "input should be 'skip', 'buffer_one' or 'allow'"),
    ("approval", "manual", "input should be 'automatic' or 'required'"),
    ("approval", True, "input should be 'automatic' or 'required'"),
    ("approval", None, "input should be 'automatic' or 'required'"),
    # review_owner
    ("review_owner", "", "at least 1 character"),
    ("review_owner", "   ", "at least 1 character"),
    ("review_owner", "x" * 201, "at most 200 characters"),
    ("review_owner", "two\nlines", ONE_LINE),
    ("review_owner", "tab\there", ONE_LINE),
    ("review_owner", "nul\x00", ONE_LINE),
    ("review_owner", "\x1b[31mred", ONE_LINE),
    ("review_owner", "right\u202eto left", ONE_LINE),
    ("review_owner", "isolated\u2066", ONE_LINE),
    ("review_owner", "zero\u200bwidth", ONE_LINE),
    ("review_owner", "byte\ufefforder", ONE_LINE),
    ("review_owner", "line\u2028separator", ONE_LINE),
    ("review_owner", "c1\x85control", ONE_LINE),
    ("review_owner", "\ud800", TEXT),
    ("review_owner", None, TEXT),
    ("review_owner", ["ops"], TEXT),
    ("review_owner", b"ops", TEXT),
    # start_at and end_at
    ("start_at", "", RFC3339),
    ("start_at", "tomorrow", RFC3339),
    ("start_at", "2026-01-31", RFC3339),
    ("start_at", "2026-01-31T09:00:00", RFC3339),
    ("start_at", "2026-02-30T09:00:00Z", RFC3339),
    ("start_at", "1969-12-31T23:59:59Z", RFC3339),
    ("start_at", 1_769_850_000_000, TEXT),
    ("start_at", True, TEXT),
    ("end_at", "2026-01-31T09:00:00+25:00", RFC3339),
    ("end_at", "10000-01-01T00:00:00Z", RFC3339),
    ("end_at", 0, TEXT),
    ("end_at", False, TEXT),
    # fields there are not
    ("priority", 1, "is not a field of a schedule"),
    ("missed-run-policy", "skip", "is not a field of a schedule"),
    ("timezone", "UTC", "is not a field of a schedule"),
    ("cron", "* * * * *", "is not a field of a schedule"),
    ("state", "paused", "is not a field of a schedule"),
    ("note", "x", "is not a field of a schedule"),
    ("revision", 1, "is not a field of a schedule"),
    ("next_run_at", "2026-01-31T09:00:00Z", "is not a field of a schedule"),
    ("__class__", "x", "is not a field of a schedule"),
    ("model_config", {}, "is not a field of a schedule"),
    ("timetable", None, "is not a field of a schedule"),
    ("digest", "0" * 16, "is not a field of a schedule"),
]


@pytest.mark.parametrize(
    ("field", "value", "fragment"), REFUSED, ids=[f"{field}={value!a}"[:60] for field, value, _ in REFUSED]
)
def test_a_malformed_field_is_refused_by_name_in_one_clear_line(field: str, value: Any, fragment: str) -> None:
    with pytest.raises(InvalidField) as refusal:
        define(with_field(field, value))
    message = str(refusal.value)
    assert fragment in message
    assert message.startswith(f"{refusal.value.field}: ")
    assert refusal.value.field.partition(".")[0] in {field, "backfill_limit"}
    assert len(message) < 200
    assert message.isprintable()
    assert "pydantic" not in message


@pytest.mark.parametrize("field", sorted(MINIMAL))
def test_a_required_field_that_is_missing_is_named(field: str) -> None:
    fields = {name: value for name, value in MINIMAL.items() if name != field}
    with pytest.raises(InvalidField, match=rf"^{field}: is required"):
        define(fields)


def test_a_missing_policy_or_owner_is_explained_since_neither_has_a_default() -> None:
    with pytest.raises(InvalidField, match="skip, run_once or backfill"):
        define({name: value for name, value in MINIMAL.items() if name != "missed_run_policy"})
    with pytest.raises(InvalidField, match="who answers for occurrences that are held"):
        define({name: value for name, value in MINIMAL.items() if name != "review_owner"})


@pytest.mark.parametrize("fields", [None, 1, "docs", [], [("schedule_id", "docs")], b"{}", True], ids=ascii)
def test_something_that_is_no_table_of_fields_is_refused(fields: Any) -> None:
    with pytest.raises(InvalidField, match="must be a table of fields"):
        define(fields)


@pytest.mark.parametrize(
    "name", ["\x1b[2J", "a\nb", "\u202e", "x" * 500, "<script>", "\ud800"], ids=lambda name: ascii(name)[:20]
)
def test_the_name_of_an_unknown_field_is_shown_without_what_could_harm_a_terminal(name: str) -> None:
    with pytest.raises(InvalidField) as refusal:
        define(with_field(name, 1))
    message = str(refusal.value)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 200


def test_a_field_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidField):
        define({**MINIMAL, 7: "seven"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("start_at", "end_at"),
    [
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
        ("2026-01-31T09:00:00Z", "2026-01-31T10:00:00+01:00"),
        ("2026-01-31T09:00:00Z", "2026-01-31T08:59:59.999Z"),
    ],
)
def test_a_schedule_that_would_end_before_it_starts_is_refused(start_at: str, end_at: str) -> None:
    with pytest.raises(InvalidField, match=r"^end_at: must be after start_at$"):
        define({**MINIMAL, "start_at": start_at, "end_at": end_at})


@pytest.mark.parametrize(
    ("spec", "largest"),
    [
        ("@every:1000", 999),
        ("*/5 * * * *", 299_999),
        ("0 9 * * *", DAY_MS - 1),
        ("0,1 9 * * *", 59_999),
        ("59 23 * * 1,2", DAY_MS - 1),
        # On the day the clocks go forward New York's morning comes an hour sooner.
        ("CRON_TZ=America/New_York 0 9 * * *", 23 * 3_600_000 - 1),
    ],
)
def test_jitter_must_be_smaller_than_the_smallest_gap_between_ticks(spec: str, largest: int) -> None:
    assert define({**MINIMAL, "spec": spec, "jitter_window_ms": largest}).jitter_window_ms == largest
    with pytest.raises(InvalidField, match=rf"^jitter_window_ms: .*{largest + 1} ms$"):
        define({**MINIMAL, "spec": spec, "jitter_window_ms": largest + 1})


@pytest.mark.parametrize("levels", [MAX_NESTING + 1, 900, 100_000])
def test_arguments_nested_too_deeply_are_refused_however_deep_they_go(levels: int) -> None:
    with pytest.raises(InvalidField, match=r"^args: must not be nested deeper than 64 levels$"):
        define(with_field("args", nested(levels)))


def test_a_number_too_long_to_be_written_is_refused() -> None:
    with pytest.raises(InvalidField, match=rf"^args: {JSON_ONLY}"):
        define(with_field("args", [10**5000]))


def test_args_and_kwargs_share_their_64_kib() -> None:
    half = "x" * (MAX_ARGUMENT_BYTES // 2)
    with pytest.raises(InvalidField, match="64 KiB"):
        define({**MINIMAL, "args": [half], "kwargs": {"a": half}})


def test_the_64_kib_are_counted_to_the_byte() -> None:
    room = MAX_ARGUMENT_BYTES - len('[""]') - len("{}")
    assert define({**MINIMAL, "args": ["x" * room], "kwargs": {}}).args
    with pytest.raises(InvalidField, match="64 KiB"):
        define({**MINIMAL, "args": ["x" * (room + 1)], "kwargs": {}})


# --- what a definition is once it is made


@pytest.mark.parametrize("fields", [MINIMAL, FULL], ids=["minimal", "full"])
def test_a_definition_survives_the_store(fields: dict[str, Any]) -> None:
    definition = define(fields)
    restored = ScheduleDefinition.from_json(definition.to_json())
    assert restored == definition
    assert restored.to_json() == definition.to_json()
    assert restored.digest == definition.digest
    assert restored.timetable == definition.timetable


@pytest.mark.parametrize("fields", [MINIMAL, FULL], ids=["minimal", "full"])
def test_what_a_definition_prints_can_be_written_again(fields: dict[str, Any]) -> None:
    printed = define(fields).model_dump(mode="json")
    assert json.loads(json.dumps(printed)) == printed
    assert define(printed).model_dump(mode="json") == printed


def test_the_stored_text_does_not_depend_on_the_order_of_the_fields() -> None:
    assert define(dict(reversed(list(FULL.items())))).to_json() == define(FULL).to_json()


def test_the_stored_text_of_a_number_does_not_depend_on_how_it_was_written() -> None:
    whole, decimal = ({**MINIMAL, "backoff": {"factor": factor}} for factor in (3, 3.0))
    assert define(whole).to_json() == define(decimal).to_json()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"docs"', "{}", "[" * 100_000, '{"schedule_id": NaN}'])
def test_a_stored_text_that_is_no_definition_is_refused(text: str) -> None:
    with pytest.raises(InvalidField):
        ScheduleDefinition.from_json(text)


def test_a_stored_definition_with_a_field_of_a_later_version_is_refused_rather_than_half_read() -> None:
    stored = json.loads(define(MINIMAL).to_json())
    with pytest.raises(InvalidField, match="is not a field of a schedule"):
        ScheduleDefinition.from_json(json.dumps({**stored, "concurrency": 2}))


def test_a_definition_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        define(MINIMAL).queue = "other"


def test_the_caller_s_table_is_left_as_it_was() -> None:
    fields = json.loads(json.dumps(FULL))
    define(fields)
    assert fields == FULL


def test_the_digest_is_that_of_the_work_and_not_of_the_timetable() -> None:
    base = define(MINIMAL).digest
    assert define({**MINIMAL, "spec": "0 9 * * *", "queue": "other", "schedule_id": "b"}).digest == base
    assert define({**MINIMAL, "kwargs": {"a": 1}}).digest != base
    assert define({**MINIMAL, "args": [1]}).digest != base
    assert define({**MINIMAL, "task": "other"}).digest != base


def test_the_timetable_has_the_bounds_and_the_jitter_of_the_definition() -> None:
    timetable = define(FULL).timetable
    assert timetable.start_ms == 1_769_900_400_000
    assert timetable.end_ms == 1_801_440_000_250
    assert timetable.jitter_window_ms == 30_000
    assert timetable.next_after(0) == 1_770_040_800_000  # Monday 2 February 2026, 09:00 in New York


# --- no value at all gets past the rules unseen

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(FULL)), ANYTHING)
def test_any_value_in_any_field_is_either_kept_by_the_store_or_refused_by_the_one_error(field: str, value: Any) -> None:
    try:
        definition = define({**FULL, field: value})
    except InvalidField as refusal:
        assert str(refusal).isprintable()  # noqa: PT017 - both outcomes are legal
        return
    assert ScheduleDefinition.from_json(definition.to_json()) == definition
