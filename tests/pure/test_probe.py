"""What a guarded task's probe has to say: one of three words, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from duly.common.records.occurrence import Effects
from duly.worker.lease_keeper import AttemptTimedOut
from duly.worker.probe import PROBE_ANSWERS, Probed, ask_probe
from duly.worker.tasks import Task


class Keeper:
    """Notes whether a time-out is set."""

    limited = False

    def start_timeout(self, _ms: float) -> None:
        self.limited = True

    def stop_timeout(self) -> None:
        self.limited = False


def asked(probe: Callable[[str], Any]) -> Probed:
    keeper = Keeper()
    task = Task("docs.refresh", lambda: None, Effects.GUARDED, probe)
    probed = ask_probe(task, "key", keeper)  # type: ignore[arg-type]
    assert not keeper.limited
    return probed


@pytest.mark.parametrize("answer", sorted(PROBE_ANSWERS))
def test_an_answer_is_taken_as_it_is(answer: str) -> None:
    assert asked(lambda key: answer if key == "key" else "") == Probed(answer, f"the probe answered {answer}")


@pytest.mark.parametrize("answer", ["COMMITED", "committed", "", None, 7, True, ["COMMITTED"]])
def test_any_other_answer_is_unknown_and_said_so(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert asked(lambda _key: answer) == Probed(
            "UNKNOWN", "the probe answered none of COMMITTED, NO_COMMITTED_RESULT, UNKNOWN"
        )
    assert "docs.refresh" in caplog.text


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ConnectionError("sekret"), "the probe raised ConnectionError"),
        (SystemExit(1), "the probe raised SystemExit"),
        (KeyboardInterrupt(), "the probe raised KeyboardInterrupt"),
        (AttemptTimedOut(), "the probe ran into its time-out"),
    ],
)
def test_a_probe_that_raises_knows_nothing_and_its_words_are_not_kept(
    error: BaseException, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    def probe(_key: str) -> NoReturn:
        raise error

    assert asked(probe) == Probed("UNKNOWN", cause)
    assert "sekret" not in caplog.text
