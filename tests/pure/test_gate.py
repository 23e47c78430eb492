"""The gate between the lease and the work."""

from __future__ import annotations

import pytest

from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects, OccurrenceRecord
from duly.worker.gate import Verdict, decide


def record(prior_outcome: str) -> OccurrenceRecord:
    fields = {
        "state": "LEASED",
        "kind": "scheduled",
        "task": "t",
        "queue": "q",
        "attempt": "2",
        "retry_budget": "3",
        "idempotency_key": "docs@1:00",
        "review_owner": "ann",
        "job_id": "j",
        "enqueued_ms": "1",
        "prior_outcome": prior_outcome,
    }
    return OccurrenceRecord.from_hash(Occurrence("docs", 1), fields)


@pytest.mark.parametrize("effects", list(Effects))
@pytest.mark.parametrize("prior", ["NONE", "NO_COMMITTED_RESULT"])
def test_a_known_past_lets_the_attempt_begin(effects: Effects, prior: str) -> None:
    assert decide(record(prior), effects) is Verdict.BEGIN


@pytest.mark.parametrize(
    ("effects", "verdict"),
    [
        (Effects.IDEMPOTENT, Verdict.BEGIN),
        (Effects.GUARDED, Verdict.ASK_PROBE),
        (Effects.UNSAFE, Verdict.HOLD),
    ],
)
def test_an_unknown_past_is_judged_by_the_effect(effects: Effects, verdict: Verdict) -> None:
    assert decide(record("UNKNOWN"), effects) is verdict
