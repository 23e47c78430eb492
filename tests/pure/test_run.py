"""What the work may know of its attempt."""

from __future__ import annotations

from unittest.mock import Mock

from duly.common.identity import Occurrence
from duly.common.store.attempts import Lease
from duly.worker.run import run_of


def test_a_run_that_is_printed_shows_what_the_work_may_use_and_not_its_lease() -> None:
    lease = Lease(Occurrence("docs", 60_000), "the-token", "host-1.1@7", 41, 2, 61_000, 30_000, 91_000)
    shown = repr(run_of(lease, "docs@60000:0123456789abcdef", 5_000, Mock()))
    assert "schedule_id='docs'" in shown
    assert "fencing_token=41" in shown
    assert "the-token" not in shown
