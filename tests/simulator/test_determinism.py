"""A seed says everything: its run is the same each time, in each process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulator.run import run

SEEDS = (3, 44, 82)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_gives_the_same_trace_twice(seed: int) -> None:
    assert str(run(seed)) == str(run(seed))


def test_a_seed_gives_the_same_trace_in_another_process() -> None:
    code = f"from tests.simulator.run import run\nfor seed in {SEEDS}: print(run(seed))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONHASHSEED": "77"}
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout == "".join(f"{run(seed)}\n" for seed in SEEDS)


def test_other_seeds_give_other_traces() -> None:
    assert len({str(run(seed)).partition("\n")[2] for seed in range(5)}) == 5
