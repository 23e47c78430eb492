"""What version 0.1 left in the store, and what its workers still send, is understood."""

from __future__ import annotations

import json
from dataclasses import replace

from duly.common.records.evidence import Evidence
from duly.common.records.occurrence import Effects
from duly.common.store.attempts import Carried, Ending
from duly.worker.gate import judge
from tests.store.conftest import Bench


def test_a_schedule_s_terms_with_the_digest_among_them(bench: Bench) -> None:
    record = bench.add()
    key = bench.store.keys.schedule("docs")
    digest, _, shared = bench.backend.client.hget(key, "terms").partition(" ")
    bench.backend.client.hset(key, "terms", json.dumps({**json.loads(shared), "digest": digest}))
    occurrence = bench.due()
    assert digest == record.definition.digest
    assert bench.record(occurrence).idempotency_key == f"{occurrence}:{digest}"
    assert bench.store.attempts.complete(bench.running(occurrence), "done") is Ending.RECORDED


def test_late_results_of_an_occurrence_that_counts_none(fake_bench: Bench) -> None:
    fake_bench.add(backoff={"base_ms": 0}, lease_ttl_ms=1_000)
    occurrence = fake_bench.due()
    first = fake_bench.running(occurrence, effects=Effects.IDEMPOTENT)
    fake_bench.pass_time(1_001)
    fake_bench.sweep()
    second = fake_bench.running(occurrence, 2, Effects.IDEMPOTENT)
    fake_bench.store.attempts.complete(first, "first")
    fake_bench.backend.client.hdel(fake_bench.store.keys.occurrence(occurrence), "late_results")
    assert fake_bench.store.attempts.complete(second, "second") is Ending.HELD


def test_evidence_without_the_version_that_it_is_of(fake_bench: Bench) -> None:
    fake_bench.add()
    occurrence = fake_bench.due()
    lease = fake_bench.lease(occurrence)
    judgement = judge(fake_bench.store.attempts.evidence(occurrence), Effects.UNSAFE)
    fields = {name: value for name, value in judgement.evidence.fields.items() if name != "version"}
    older = replace(judgement, evidence=Evidence.from_text(occurrence, json.dumps(fields)))
    answer = fake_bench.store.attempts.begin(lease, Effects.UNSAFE, older)
    assert answer.word is Carried.CHANGED
    assert answer.evidence is not None
    anew = judge(answer.evidence, Effects.UNSAFE)
    assert fake_bench.store.attempts.begin(lease, Effects.UNSAFE, anew).word is Carried.BEGUN
