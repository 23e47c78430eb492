"""What the log says of attempts: enough to act on, and nothing of a payload."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from duly.common.identity import Occurrence
from duly.common.store.attempts import Ending, Lease
from duly.worker import attempt, performing
from duly.worker.lease_keeper import AttemptTimedOut
from duly.worker.run import OutcomeUnknown

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


def wait(_path: str) -> None:
    raise AttemptTimedOut


def charge(_path: str) -> None:
    try:
        refresh("x")
    except ValueError as error:
        raise OutcomeUnknown("sekret") from error


@pytest.mark.parametrize(
    ("function", "said", "where"),
    [
        (wait, "docs@1 attempt 1 timed out", "in wait"),
        (charge, "ended by OutcomeUnknown from ValueError", "in refresh"),
    ],
)
def test_an_outcome_that_is_not_known_is_logged_with_where_the_work_was(
    caplog: pytest.LogCaptureFixture, function: Callable[[str], None], said: str, where: str
) -> None:
    with pytest.raises((AttemptTimedOut, OutcomeUnknown)) as error:
        performing._call(function, ["x"], {})
    outcome = performing.outcome_of(error.value, LEASE.occurrence, LEASE.attempt)
    assert outcome.kind is performing.Kind.UNKNOWN
    assert said in caplog.text
    assert where in caplog.text
    assert "in _call" not in caplog.text
    assert "sekret x" not in caplog.text
