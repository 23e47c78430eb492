"""What happens in the very millisecond in which a lease ends; only the quick server has keys that last that long."""

from __future__ import annotations

import pytest
import time_machine

from duly.common.settings import Settings
from duly.common.store import Store
from duly.common.store.attempts import Claim
from tests.conftest import FAKE_START_MS, Backend
from tests.simulator.fast_fake import fresh
from tests.store.conftest import Bench

LEFT_MS = 5


@pytest.mark.parametrize(("past_ms", "claim"), [(LEFT_MS - 1, Claim.HELD), (LEFT_MS, Claim.ACQUIRED)])
def test_a_lease_of_somebody_else_is_no_claim_in_its_last_millisecond(past_ms: int, claim: Claim) -> None:
    with time_machine.travel(FAKE_START_MS / 1000, tick=False) as traveller:
        client = fresh()
        bench = Bench(
            Backend("quick", client, None, lambda ms: traveller.shift(ms / 1000)), _store(client), token="duty"
        )
        bench.add()
        occurrence = bench.due()
        client.set(f"{bench.store.keys.prefix}:lease:{occurrence}", "somebody", px=LEFT_MS)
        bench.backend.advance(past_ms)
        assert bench.store.attempts.acquire(occurrence, 1, "0" * 32, "w@1").claim is claim
        held = bench.record(occurrence).hold_reason
        assert held == ("HOLD_CONCURRENT_LEASE_CLAIM" if claim is Claim.HELD else None)


def _store(client: object) -> Store:
    return Store(client, Settings(), shebang=False)  # type: ignore[arg-type]
