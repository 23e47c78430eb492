"""Decisions on the command line: decided again from the record, explained, resolved as they were seen, approved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from duly.common.contract import decide, read_case
from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from tests.acceptance.conftest import HOSTILE, Cli
from tests.store.conftest import Bench
from tests.store.obstacles import OBSTACLES, put_in_the_way

RUN = "INTERVAL_RUN_REVIEW_REQUIRED"


def held(bench: Bench) -> Occurrence:
    """An occurrence whose lease expired after the work had begun."""
    bench.add(schedule_id="x", spec="@every:60000", lease_ttl_ms=5_000)
    occurrence = bench.due("x")
    bench.running(occurrence, effects=Effects.UNSAFE)
    bench.pass_time(6_000)
    bench.sweep()
    return occurrence


def resolve(occurrence: Occurrence, outcome: str, *more: str) -> list[str]:
    return ["hold", "resolve", str(occurrence), "--outcome", outcome, "--by", "ann", "--evidence", "ticket 7", *more]


def test_a_record_that_nobody_touched_is_decided_the_same_again(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    told = cli.json("recompute", "x", str(occurrence.tick_ms))
    assert told["same"] is True
    assert told["misfit"] is None
    lost = "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN"
    assert [each["recorded"] for each in told["decisions"]] == [RUN, lost]
    assert [each["recomputed"]["decision"] for each in told["decisions"]] == [RUN, lost]
    said = cli.text("recompute", str(occurrence))
    assert said.endswith("2 decisions decided again from the record: the same\n")
    assert max(map(len, said.splitlines())) <= 80


def test_the_case_of_a_recorded_decision_is_decided_by_a_file_too(cli: Cli, bench: Bench, tmp_path: Path) -> None:
    occurrence = held(bench)
    for each in cli.json("recompute", str(occurrence))["decisions"]:
        file = tmp_path / "case.json"
        file.write_text(json.dumps(each["case"]))
        result = cli("contract", "decide", str(file), "--json")
        assert json.loads(result.stdout) == each["recomputed"]
        assert decide(read_case(each["case"])).decision == each["recorded"]


def doctor(bench: Bench, occurrence: Occurrence, number: int, **evidence: str) -> None:
    key = bench.store.keys.occurrence(occurrence)
    kept = json.loads(bench.backend.client.hget(key, f"decision:{number}"))
    kept["evidence"].update(evidence)
    bench.backend.client.hset(key, f"decision:{number}", json.dumps(kept))


@pytest.mark.parametrize(
    ("number", "evidence"),
    [
        (1, {"prior_outcome": "UNKNOWN"}),
        (1, {"lease_owner": ""}),
        (2, {"prior_outcome": "NO_COMMITTED_RESULT"}),
        (2, {"lease_expires_ms": "1767229999999"}),
    ],
)
def test_a_doctored_record_is_found_out(cli: Cli, bench: Bench, number: int, evidence: dict[str, str]) -> None:
    occurrence = held(bench)
    doctor(bench, occurrence, number, **evidence)
    result = cli("recompute", str(occurrence), "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [each["same"] for each in told["decisions"]] == [number != 1, number != 2]
    assert "NOT the same: the record is not what was decided on" in cli("recompute", str(occurrence)).stdout


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("hold_reason", "HOLD_RETRY_BUDGET_EXHAUSTED", "it is held for HOLD_RETRY_BUDGET_EXHAUSTED"),
        ("idempotency_key", "x@1:0123456789abcdef", "its idempotency key is not the one that was decided on"),
        ("decision:2", "{", "it is held for HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN, and what was decided last is not"),
    ],
)
def test_a_record_that_does_not_fit_its_decisions_is_found_out(
    cli: Cli, bench: Bench, field: str, value: str, said: str
) -> None:
    occurrence = held(bench)
    bench.backend.client.hset(bench.store.keys.occurrence(occurrence), field, value)
    result = cli("recompute", str(occurrence))
    assert result.exit_code == 1
    assert said in " ".join(result.stdout.split())


def test_what_was_never_decided_cannot_be_decided_again(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    occurrence = bench.due("x")
    assert "nothing has been decided" in cli.refusal("recompute", str(occurrence))
    assert "no occurrence x@5" in cli.refusal("recompute", "x@5")


def test_an_occurrence_shows_its_decision_and_marks_what_blocks(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    shown = cli.json("occurrence", str(occurrence))
    assert shown["decision"]["decision"] == "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN"
    assert len(shown["evidence"]) == 18
    assert shown["observed"]["prior_outcome"] == "UNKNOWN"
    lines = cli.text("occurrence", str(occurrence)).splitlines()
    marked = {line.split()[1] for line in lines if line.startswith("! ")}
    assert marked == set(shown["decision"]["blocking_fields"])
    assert {"lease_expires_at", "prior_outcome"} <= marked
    assert max(map(len, lines)) <= 80


def test_what_waits_shows_its_evidence_as_it_stands(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    occurrence = bench.due("x")
    shown = cli.json("occurrence", str(occurrence))
    assert shown["decision"] is None
    assert shown["evidence"]["run_state"] == "PENDING"
    assert "none yet: a worker decides when it has the lease" in cli.text("occurrence", str(occurrence))


def test_a_tick_that_is_still_ahead_is_decided_as_not_due(cli: Cli, bench: Bench) -> None:
    record = bench.add(schedule_id="x", spec="@every:60000")
    shown = cli.json("occurrence", "x", str(record.next_run_ms))
    assert (shown["on_record"], shown["decision"]["decision"]) == (False, "NOT_DUE")
    assert "is not due before 2026-01-01T00:01:00Z" in shown["decision"]["explanation"]
    bench.pass_time(60_000)
    assert cli.json("occurrence", "x", str(record.next_run_ms))["decision"] is None


def test_the_command_that_a_hold_shows_resolves_what_was_seen(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    (shown,) = cli.json("holds")["holds"]
    assert shown["decision"]["decision"] == shown["reason"] == "HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN"
    assert f"duly hold resolve x {occurrence.tick_ms} --seen {shown['version']}" in cli.text("holds")
    other = str(shown["version"] - 1)
    assert "changed since you looked at it" in cli.refusal(*resolve(occurrence, "abandoned", "--seen", other))
    assert cli.json(*resolve(occurrence, "abandoned", "--seen", str(shown["version"])))["state"] == "ABANDONED"


def test_a_resolution_can_run_the_latest_missed_tick(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    bench.pass_time(600_000)
    bench.sweep()
    told = cli.json(*resolve(occurrence, "committed", "--catch-up", "latest"))
    assert told["catch_up_tick_ms"] == occurrence.tick_ms + 600_000
    bench.sweep()
    assert cli.json("occurrence", "x", str(told["catch_up_tick_ms"]))["state"] == "PENDING"
    again = cli.text(*resolve(occurrence, "committed", "--catch-up", "latest"))
    assert "no tick of its present timing was missed" in again


def test_a_catch_up_of_a_paused_schedule_says_what_was_done_and_what_was_not(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    bench.store.schedules.pause("x", "why")
    told = cli.json(*resolve(occurrence, "committed", "--catch-up", "latest"))
    assert (told["state"], told["catch_up_tick_ms"]) == ("SUCCEEDED", None)
    assert told["catch_up"].startswith("nothing is caught up: ")
    assert "resume it with --catch-up latest" in told["catch_up"]


@pytest.mark.parametrize(("obstacle", "said"), OBSTACLES.items())
def test_whatever_keeps_a_catch_up_from_being_made_the_command_that_resolved_the_hold_succeeds(
    cli: Cli, bench: Bench, monkeypatch: pytest.MonkeyPatch, obstacle: str, said: str
) -> None:
    occurrence = held(bench)
    put_in_the_way(obstacle, bench, monkeypatch, "x")
    told = cli.json(*resolve(occurrence, "committed", "--catch-up", "latest"))
    assert (told["state"], told["catch_up_tick_ms"]) == ("SUCCEEDED", None)
    assert said in told["catch_up"]


def test_a_catch_up_of_a_deleted_schedule_says_so(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    bench.store.schedules.delete("x")
    told = cli.json(*resolve(occurrence, "abandoned", "--catch-up", "latest"))
    assert told["catch_up"] == "nothing is caught up: no schedule 'x'"


def test_a_hold_says_what_ended_its_attempt(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    occurrence = bench.due("x")
    bench.store.attempts.relinquish(bench.running(occurrence), "timeout")
    assert cli.json("holds")["holds"][0]["cause"] == "timeout"
    assert "its time-out ended the work" in cli.text("holds")
    assert "its time-out ended the work" in cli.text("occurrence", str(occurrence))
    assert "Beside that:" not in cli.text("holds")


def test_what_is_over_is_told_as_what_was_decided_last(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    cli.json(*resolve(occurrence, "committed"))
    said = " ".join(cli.text("occurrence", str(occurrence)).split())
    assert "last decision HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN why as of 2026-01-01T00:01:06Z: x@" in said
    bench.add(schedule_id="y", spec="@every:60000")
    gone = bench.due("y")
    bench.store.schedules.delete("y")
    assert "none was made" in cli.text("occurrence", str(gone))


def test_the_next_tick_of_a_quarantined_schedule_says_that_it_will_be_skipped(cli: Cli, bench: Bench) -> None:
    held(bench)
    next_ms = bench.store.schedules.get("x").next_run_ms
    assert "still quarantined by 1 open hold" in cli.json("occurrence", "x", str(next_ms))["explanation"]


def test_holds_and_approvals_are_listed_apart_or_together(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="y", spec="@every:60000", approval="required", missed_run_policy="backfill", backfill_limit=3)
    waiting = [str(bench.due("y")) for _ in range(3)]
    occurrence = held(bench)

    def named(*words: str) -> list[str]:
        return [f"{each['schedule_id']}@{each['tick_ms']}" for each in cli.json("holds", *words)["holds"]]

    assert named()[:4] == [str(occurrence), *waiting]
    assert named("--kind", "hold") == [str(occurrence)]
    assert named("--kind", "approval")[:3] == waiting
    first = cli.json("holds", "--limit", "2")
    rest = cli.json("holds", "--limit", "2", "--cursor", first["next_cursor"])
    assert [f"{h['schedule_id']}@{h['tick_ms']}" for h in first["holds"] + rest["holds"]] == [str(occurrence), *waiting]
    assert cli.json("fleet")["holds"] == 1
    assert cli.json("fleet")["approvals"] >= 3
    assert "to approve" in cli.text("fleet")


def test_a_file_that_changes_the_model_must_state_what_depends_on_it(cli: Cli, bench: Bench, tmp_path: Path) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    table = '[[schedule]]\nschedule_id = "x"\ntask = "docs.refresh"\nreview_owner = "ann"\nspec = "0 9 * * *"\n'
    file = tmp_path / "all.toml"
    file.write_text(table + 'missed_run_policy = "run_once"\n')
    for words in (["--dry-run"], []):
        said = cli.refusal("schedule", "sync", str(file), *words)
        assert said.startswith("schedule 'x': jitter_window_ms: must be stated again")
        assert "lease_ttl_ms, retry_budget, backoff" in said
    more = "jitter_window_ms = 0\nlease_ttl_ms = 30000\nretry_budget = 3\nbackoff = {base_ms = 1000}\n"
    file.write_text(table + 'missed_run_policy = "run_once"\n' + more)
    cli.json("schedule", "sync", str(file))
    assert bench.store.schedules.get("x").definition.spec == "0 9 * * *"


def test_extra_attempts_with_another_outcome_are_refused(cli: Cli, bench: Bench) -> None:
    occurrence = held(bench)
    assert "extra_attempts: goes with" in cli.refusal(*resolve(occurrence, "committed", "--extra-attempts", "1"))


def test_a_run_that_waits_for_its_reviewer_is_listed_and_approved(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000", approval="required", review_owner="ann lee")
    occurrence = bench.due("x")
    (shown,) = cli.json("holds")["holds"]
    assert (shown["reason"], shown["state"], shown["decision"]) == ("approval_required", "PENDING", None)
    assert f"duly hold approve x {occurrence.tick_ms} --by 'ann lee'" in cli.text("holds")
    assert cli.json("occurrence", str(occurrence))["released_by"] == "its reviewer, ann lee: duly hold approve"
    said = cli.refusal("hold", "approve", str(occurrence), "--by", "bob")
    assert said == f"{occurrence} can be approved by its reviewer only: ann lee"
    for replayed in (False, True):
        assert cli.json("hold", "approve", "x", str(occurrence.tick_ms), "--by", "ann lee") == {
            "schedule_id": "x",
            "tick_ms": occurrence.tick_ms,
            "approved_by": "ann lee",
            "replayed": replayed,
        }
    assert cli.json("holds")["holds"] == []
    assert "approved by" in cli.text("occurrence", str(occurrence))


def test_hostile_evidence_is_shown_harmlessly(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000", review_owner=HOSTILE, approval="required")
    occurrence = bench.due("x")
    bench.backend.client.hset(bench.store.keys.occurrence(occurrence), "result_ref", "\x1b[31m\u202e")
    for words in (["occurrence", str(occurrence)], ["holds"]):
        said = cli.text(*words)
        assert HOSTILE in said
        assert "\x1b" not in said
        assert "\u202e" not in said


def test_changing_the_model_of_a_schedule_names_every_field_that_must_be_said_again(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="x", spec="@every:60000")
    said = cli.refusal("schedule", "update", "x", "--spec", "0 9 * * *")
    for field in ("missed_run_policy", "jitter_window_ms", "lease_ttl_ms", "retry_budget", "backoff"):
        assert field in said
    partly = [
        "schedule",
        "update",
        "x",
        "--spec",
        "0 9 * * *",
        "--missed-run-policy",
        "run_once",
        "--retry-budget",
        "2",
    ]
    assert "missed_run_policy" not in cli.refusal(*partly)
    rest = ["--jitter-window-ms", "0", "--lease-ttl-ms", "30000"]
    rest += ["--backoff-base-ms", "1000", "--backoff-factor", "2", "--backoff-max-ms", "60000"]
    cli.json(*partly, *rest)
    bench.running(bench.due("x"))
