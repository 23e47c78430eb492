"""What the log says of attempts: enough to act on, and nothing of a payload."""

from __future__ import annotations

import pytest

from duly.common.identity import Occurrence
from duly.common.store.attempts import Ending, Lease
from duly.worker import attempt, performing

LEASE = Lease(Occurrence("docs", 1), "token", "w@1", 1, 1, 0, 1_000, 1_000)


class Keeper:
    def start_timeout(self, _ms: float) -> None: ...
    def stop_timeout(self) -> None: ...


def refresh(path: str, *, depth: int = 1) -> None:
    raise ValueError(f"sekret {path}")


@pytest.mark.parametrize("ending", list(Ending))
def test_every_ending_has_words(ending: Ending) -> None:
    assert attempt.in_words(ending)


def test_arguments_that_do_not_fit_are_told_by_the_names_of_parameters() -> None:
    with pytest.raises(performing.ArgumentsDoNotFit, match="path") as error:
        performing._call(refresh, [], {"pth": "sekret"})
    assert "sekret" not in str(error.value)


def test_a_failure_is_logged_with_its_kind_and_the_work_s_own_frames(caplog: pytest.LogCaptureFixture) -> None:
    try:
        performing._call(refresh, ["x"], {})
    except ValueError as error:
        performing._log_failure(LEASE.occurrence, LEASE.attempt, error)
    assert "raised ValueError" in caplog.text
    assert "in refresh" in caplog.text
    assert "in _call" not in caplog.text
    assert "sekret x" not in caplog.text
