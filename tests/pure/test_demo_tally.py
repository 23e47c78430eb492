"""The demo's verdict: made-up records in which nothing is wrong, and the same with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from duly.common.demo import report
from duly.common.demo.journal import Effect
from duly.common.demo.tally import ScheduleRecords, Tally, tally
from duly.common.identity import Occurrence
from duly.common.records.definition import define
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.records.trail import EnqueueEvent, RunEvent

TIMETABLE = define(
    {
        "schedule_id": "docs",
        "spec": "@every:1000",
        "task": "docs.refresh",
        "missed_run_policy": "run_once",
        "review_owner": "Ada",
    }
).timetable
CREATED_MS = 10_500


@dataclass
class Records:
    """Records of a schedule as they grow, all true; tests break them afterwards."""

    events: list[EnqueueEvent] = field(default_factory=list)
    runs: list[RunEvent] = field(default_factory=list)
    occurrences: dict[int, OccurrenceRecord] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    fence: int = 0

    def audit(self, tick_ms: int, outcome: str = "enqueued", reason: str = "accepted", first_ms: int = 0) -> None:
        first_ms = first_ms or tick_ms
        count = (tick_ms - first_ms) // 1000 + 1
        self.events.append(EnqueueEvent("", tick_ms, outcome, reason, None, count, first_ms, tick_ms, tick_ms + 5))

    def run(self, tick_ms: int, event: str, state: str, attempt: int, reason: str | None = None) -> None:
        at_ms = tick_ms + 10 + len(self.runs)
        self.runs.append(RunEvent("", event, "docs", tick_ms, state, attempt, "w.1@7", self.fence, reason, at_ms))

    def start(self, tick_ms: int, attempt: int = 1) -> None:
        self.fence += 1
        self.run(tick_ms, "acquired", "LEASED", attempt)
        self.run(tick_ms, "began", "RUNNING", attempt)

    def effect(self, tick_ms: int, attempt: int = 1) -> None:
        self.effects.append(Effect("docs", tick_ms, attempt, self.fence, f"docs@{tick_ms}:aa"))

    def end(
        self,
        tick_ms: int,
        state: str,
        attempt: int = 1,
        effects: str = "idempotent",
        decision: dict[str, str] | None = None,
    ) -> None:
        fields = {
            "state": state, "kind": "scheduled", "task": "docs.refresh", "queue": "default", "attempt": str(attempt),
            "retry_budget": "3", "idempotency_key": f"docs@{tick_ms}:aa", "review_owner": "Ada", "job_id": "j",
            "enqueued_ms": str(tick_ms), "effects": effects, **(decision or {}),
        }  # fmt: skip
        self.occurrences[tick_ms] = OccurrenceRecord.from_hash(Occurrence("docs", tick_ms), fields)

    def succeed(self, tick_ms: int, attempt: int = 1, effects: str = "idempotent") -> None:
        self.start(tick_ms, attempt)
        self.effect(tick_ms, attempt)
        self.run(tick_ms, "succeeded", "SUCCEEDED", attempt)
        self.end(tick_ms, "SUCCEEDED", attempt, effects)

    def sealed(self, stands_at_ms: int = 18_000) -> ScheduleRecords:
        return ScheduleRecords(
            TIMETABLE, CREATED_MS, stands_at_ms, self.events, self.runs, list(self.occurrences.values()), self.effects
        )


def true_records() -> Records:
    """Ticks 11 to 17: two run, one retried after a lost worker, one skipped, two dropped, one coalesced."""
    records = Records()
    for tick_ms in (11_000, 12_000):
        records.audit(tick_ms)
        records.succeed(tick_ms)
    records.audit(13_000)
    records.start(13_000)
    records.run(13_000, "outcome_unknown", "RETRY_WAIT", 1, "lease_expired")
    records.run(13_000, "retry_due", "PENDING", 1)
    records.succeed(13_000, attempt=2)
    records.audit(14_000, "skipped", "overlap")
    records.audit(16_000, "skipped", "backlog_dropped", first_ms=15_000)
    records.audit(17_000)
    records.run(17_000, "coalesced", "COALESCED", 0, "newer_tick_due")
    records.end(17_000, "COALESCED", attempt=0)
    return records


def judged(spoil: Callable[[Records], None]) -> Tally:
    records = true_records()
    spoil(records)
    return tally([records.sealed()])


def test_true_records_are_counted_and_no_promise_is_broken() -> None:
    made = tally([true_records().sealed()])
    assert made.broken == []
    assert made.open == []
    row = made.rows[0]
    assert row.to_dict() == {
        "schedule_id": "docs",
        "due": 7,
        "enqueued": 4,
        "skipped": 1,
        "dropped": 2,
        "coalesced": 1,
        "held": 0,
        "succeeded": 3,
        "attempts": 4,
        "effects": 3,
        "duplicates": 0,
        "vanished": 0,
    }
    assert row.due == row.enqueued + row.skipped + row.dropped + row.vanished


def test_a_tick_without_an_outcome_has_vanished() -> None:
    made = judged(lambda records: records.events.pop(3))
    assert made.rows[0].vanished == 1
    assert made.broken == ["docs 1970-01-01T00:00:14Z was due and has no outcome on record"]


def test_a_tick_just_before_or_after_a_dropped_backlog_is_not_covered_by_it() -> None:
    def shorten(records: Records) -> None:
        records.events[4] = replace(records.events[4], first_tick_ms=16_000, count=1)

    assert judged(shorten).broken == ["docs 1970-01-01T00:00:15Z was due and has no outcome on record"]


def test_a_trail_that_vanished_as_a_whole_is_noticed() -> None:
    assert judged(lambda records: records.events.clear()).rows[0].vanished == 7


def test_a_dispatch_before_its_time_is_found() -> None:
    def hurry(records: Records) -> None:
        records.events[0] = replace(records.events[0], recorded_ms=10_999)

    assert judged(hurry).broken == ["docs 1970-01-01T00:00:11Z was dispatched 1 ms before its time"]


def test_two_effects_of_one_attempt_are_a_duplicate() -> None:
    made = judged(lambda records: records.effects.append(records.effects[0]))
    assert made.rows[0].duplicates == 1
    assert made.broken == ["docs 1970-01-01T00:00:11Z attempt 1 had 2 effects"]


def test_a_repeated_delivery_that_the_receiver_recognised_is_still_a_duplicate_of_its_attempt() -> None:
    made = judged(lambda records: records.effects.append(replace(records.effects[0], repeated=True)))
    assert made.rows[0].duplicates == 1
    assert not made.kept


def test_an_idempotent_effect_of_two_attempts_is_no_duplicate() -> None:
    def effect_before_the_worker_was_lost(records: Records) -> None:
        records.effects.append(Effect("docs", 13_000, 1, 3, "docs@13000:aa"))

    assert judged(effect_before_the_worker_was_lost).kept


def test_a_second_effect_of_unsafe_work_is_a_duplicate() -> None:
    def unsafe(records: Records) -> None:
        records.effects.append(Effect("docs", 13_000, 1, 3, "docs@13000:aa"))
        records.end(13_000, "SUCCEEDED", 2, effects="unsafe")

    assert judged(unsafe).broken == ["docs 1970-01-01T00:00:13Z must not be repeated and had 2 effects"]


def test_a_success_without_an_effect_is_found() -> None:
    made = judged(lambda records: records.effects.pop(0))
    assert made.broken == ["docs 1970-01-01T00:00:11Z succeeded without an effect"]


def test_an_effect_and_a_success_without_a_lease_are_found() -> None:
    def forget_lease(records: Records) -> None:
        records.runs[:] = [run for run in records.runs if run.tick_ms != 11_000 or run.event == "succeeded"]

    assert judged(forget_lease).broken == [
        "docs 1970-01-01T00:00:11Z attempt 1 had an effect without a lease",
        "docs 1970-01-01T00:00:11Z succeeded without a lease",
    ]


def test_an_effect_under_a_lease_that_never_was_is_found() -> None:
    def forge(records: Records) -> None:
        records.effects[0] = replace(records.effects[0], fencing_token=99)

    assert "docs 1970-01-01T00:00:11Z attempt 1 had an effect without a lease" in judged(forge).broken


def test_two_successes_of_one_occurrence_are_found() -> None:
    made = judged(lambda records: records.run(11_000, "succeeded", "SUCCEEDED", 1))
    assert "docs 1970-01-01T00:00:11Z succeeded 2 times" in made.broken


def test_a_second_lease_while_the_first_is_open_is_found() -> None:
    def lease_again(records: Records) -> None:
        records.runs[:] = [run for run in records.runs if run.event not in {"outcome_unknown", "retry_due"}]

    assert judged(lease_again).broken == ["docs 1970-01-01T00:00:13Z was leased twice at one time"]


def test_a_fencing_token_that_does_not_grow_is_found() -> None:
    def shrink(records: Records) -> None:
        for at, run in enumerate(records.runs):
            if run.tick_ms == 13_000 and run.attempt == 2:
                records.runs[at] = replace(run, fencing_token=2)

    assert "docs 1970-01-01T00:00:13Z was leased under a fencing token that did not grow" in judged(shrink).broken


def test_an_enqueued_tick_without_a_record_is_found() -> None:
    made = judged(lambda records: records.occurrences.pop(17_000))
    assert made.broken == ["docs 1970-01-01T00:00:17Z was enqueued and has no record"]


def test_a_success_that_no_history_tells_of_is_found() -> None:
    made = judged(lambda records: records.end(17_000, "SUCCEEDED"))
    assert made.broken == ["docs@17000 is a success that its history does not know"]


def test_a_success_that_a_reviewer_stated_needs_no_effect() -> None:
    records = true_records()
    records.audit(18_000)
    records.start(18_000)
    records.run(18_000, "held", "HELD", 1, "outcome_unknown")
    records.run(18_000, "succeeded", "SUCCEEDED", 1, "resolved")
    records.end(18_000, "SUCCEEDED")
    made = tally([records.sealed(19_000)])
    assert made.kept
    assert made.rows[0].held == 1


@pytest.mark.parametrize(("state", "is_open"), [("PENDING", True), ("RUNNING", True), ("HELD", False)])
def test_what_has_not_ended_is_open_and_what_is_held_waits_for_a_person(state: str, is_open: bool) -> None:
    made = judged(lambda records: records.end(17_000, state))
    assert made.open == ([f"docs@17000 is {state}"] if is_open else [])


def test_a_trail_at_its_cap_is_no_proof() -> None:
    made = tally([replace(true_records().sealed(), complete=False)])
    assert made.broken == ["docs: a trail reached its cap; the tally is not complete"]


def test_the_table_fits_in_80_columns_with_large_numbers() -> None:
    made = tally([true_records().sealed()])
    row = replace(made.rows[0], due=99_999, enqueued=99_999, attempts=99_999, effects=9_999)
    lines = report.table(Tally([row])) + report.verdict(made)
    assert all(len(line) <= 80 for line in lines)
    assert "All promises kept." in lines[-1]


def test_the_heads_are_whole_words_that_end_above_their_numbers() -> None:
    row = replace(tally([true_records().sealed()]).rows[0], due=1, enqueued=2, skipped=3, dropped=4, coalesced=5)
    upper, lower, numbers, *_ = report.table(Tally([replace(row, held=6, attempts=7, effects=8, vanished=9)]))
    heads = ["due", "enqueued", "skipped", "dropped", "coalesced", "held", "attempts", "effects", "doubled", "vanished"]
    assert sorted([*upper.split(), *lower.split()]) == sorted(["schedule", *heads])
    for head, number in zip(heads, [1, 2, 3, 4, 5, 6, 7, 8, 0, 9], strict=True):
        line = upper if head in upper else lower
        assert numbers[line.index(head) + len(head) - 1] == str(number)


def test_every_broken_promise_is_a_line_of_the_verdict() -> None:
    made = judged(lambda records: records.effects.append(records.effects[0]))
    assert report.verdict(made) == ["BROKEN: docs 1970-01-01T00:00:11Z attempt 1 had 2 effects"]


def test_a_decision_that_does_not_follow_from_its_evidence_is_broken() -> None:
    nothing = json.dumps({"decision": "INTERVAL_RUN_REVIEW_REQUIRED", "evidence": {}})
    tally_ = judged(
        lambda records: records.end(12_000, "SUCCEEDED", decision={"decisions": "1", "decision:1": nothing})
    )
    assert tally_.decisions == 1
    assert tally_.broken == [
        "docs@12000 was decided INTERVAL_RUN_REVIEW_REQUIRED, and its evidence says HOLD_SCHEDULE_IDENTITY_INCOMPLETE"
    ]
