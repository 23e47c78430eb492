"""The simulator has teeth: with one guard taken away, the promise that it guards is seen to break."""

from __future__ import annotations

import pytest

from tests.simulator.known_seeds import SEEDS
from tests.simulator.mutant_list import MUTANTS, NOT_CAUGHT, seed_that_catches
from tests.simulator.mutants import Mutant

TRIES = 60
"""More seeds to try when the known one does not catch it any more."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_missing_guard_breaks_its_promise(mutant: Mutant) -> None:
    found = seed_that_catches(mutant, range(TRIES))
    assert found is not None, f"no seed saw {mutant.signs}; find one: python -m tests.simulator.seek '{mutant}'"


def test_mutants_have_names_of_their_own_and_no_other_seeds_are_known() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    assert set(SEEDS) <= set(names)
    assert not set(NOT_CAUGHT) & set(names)
