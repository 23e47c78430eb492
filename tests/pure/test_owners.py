"""Names of owners: whatever a worker is called, its name is found again in the owner of each of its leases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duly.common.owners import fleet_name, is_instance, new_instance, owner_name

NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,40}", fullmatch=True)
NUMBERS = st.integers(0, 10**9)


@given(NAMES, NUMBERS, st.none() | NUMBERS)
def test_an_owner_leads_back_to_the_worker_it_was_made_for(name: str, pid: int, turn: int | None) -> None:
    assert fleet_name(owner_name(new_instance(name), pid, turn)) == name


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("vm-7.2.5be66f@2836.12", "vm-7.2"),
        ("vm-7.2.5be66f@2836", "vm-7.2"),
        ("vm-7.2.5be66f", "vm-7.2"),
        ("a.abcdef.5be66f@1.123456", "a.abcdef"),
        ("w@1.2", "w"),
        ("w@1", "w"),
        ("w", "w"),
        ("two\nlines", "two\nlines"),
        ("", "-"),
        (None, "-"),
    ],
)
def test_the_name_in_the_fleet_is_what_is_left_of_an_owner_without_its_start_process_and_turn(
    owner: str | None, name: str
) -> None:
    assert fleet_name(owner) == name


def test_a_worker_that_starts_again_has_another_name_in_rq_which_is_told_from_a_strangers() -> None:
    first, second = new_instance("vm-7"), new_instance("vm-7")
    assert first != second
    assert is_instance(first)
    assert not any(is_instance(stranger) for stranger in ("vm-7", "0123456789abcdef0123456789abcdef", "vm.12345", ""))
