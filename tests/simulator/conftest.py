"""Which seeds are played: a fixed thousand, one of them (`--seed N` or SEED=N), or any number (SEEDS=N START=N)."""

from __future__ import annotations

import os

import pytest

CHUNKS, CHUNK = 20, 50


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="play this one seed of the simulator")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seeds" in metafunc.fixturenames:
        chunks = _chunks(metafunc.config)
        metafunc.parametrize("seeds", chunks, ids=[f"{each.start}-{each.stop - 1}" for each in chunks])


def _chunks(config: pytest.Config) -> list[range]:
    one = config.getoption("--seed", default=None)
    if one is None and os.environ.get("SEED"):
        one = int(os.environ["SEED"])
    if one is not None:
        return [range(one, one + 1)]
    first, many = int(os.environ.get("START") or 0), int(os.environ.get("SEEDS") or CHUNKS * CHUNK)
    return [range(start, min(start + CHUNK, first + many)) for start in range(first, first + many, CHUNK)]
