"""Find a seed for every mutant, or for those named: python -m tests.simulator.seek [NAME]... [--most N]

Prints lines for `known_seeds.py`, those that have a seed already included.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulator import lua_mutants, python_mutants
from tests.simulator.mutant_list import MUTANTS, seed_that_catches


def _seek(name: str, most: int) -> tuple[str, int | None]:
    mutant = next(each for each in (*lua_mutants.ALL, *python_mutants.ALL) if each.name == name)
    return name, seed_that_catches(mutant, range(most))


def main() -> None:
    parser = argparse.ArgumentParser(description="Find a seed for every mutant.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int, default=2_000)
    given = parser.parse_args()
    names = given.names or [mutant.name for mutant in MUTANTS]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name, seed in pool.map(partial(_seek, most=given.most), names):
            print(f'    "{name}": {seed},' if seed is not None else f"    # {name}: none of {given.most}", flush=True)


if __name__ == "__main__":
    main()
