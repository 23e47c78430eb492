"""A fleet in a storm keeps every promise. A seed that breaks one is printed with its trace, and replays the same."""

from __future__ import annotations

import pytest

from tests.simulator.run import run


def test_every_promise_is_kept(seeds: range) -> None:
    for seed in seeds:
        report = run(seed)
        if report.violation:
            pytest.fail(f"{report}\n\nagain: pytest tests/simulator/test_promises.py --seed {seed}", pytrace=False)
