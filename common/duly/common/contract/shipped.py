"""The case files that come with the package: the outage of a daily job, told step by step, and the rest of the table.

None says what is decided about it: that is for the reader to work out, and for `decide` to confirm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from .case import Case
from .reading import read_case

_TOLD_AS: Final = (
    ("01-outage-outcome-unclear", "six hours down, and nobody knows what became of the run before"),
    ("02-outage-reconciled", "the same, reconciled: no committed result, one lease, one catch-up"),
    ("03-two-workers-one-lease", "two workers believe they own the same occurrence"),
    ("04-policy-unknown-after-restart", "a restart after a missed tick, and no policy for it"),
    ("05-lease-expired-outcome-unknown", "the worker was lost in the middle of the work"),
    ("06-budget-spent-another-tick-due", "every attempt failed; that another tick is due changes nothing"),
    ("07-interval-policy-copied", "moved to five minutes, with the policy of the daily job"),
    ("08-interval-restated", "moved to five minutes, with everything decided anew"),
    ("09-interval-tick-coalesced", "a tick behind, which the latest one covers"),
    ("10-calendar-on-time", "an ordinary morning"),
    ("11-not-due", "asked a minute too early"),
    ("12-retry-not-yet-due", "failed, and still waiting to be tried again"),
    ("13-already-committed", "delivered again after it was done"),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A case file: its name without the suffix, what it tells, and its text."""

    name: str
    title: str
    text: str

    @property
    def case(self) -> Case:
        """The case that the text holds."""
        return read_case(json.loads(self.text))


def examples() -> list[Example]:
    """All of them, in the order in which they are best read."""
    folder = files(__package__) / "examples"
    return [Example(name, title, (folder / f"{name}.json").read_text("utf-8")) for name, title in _TOLD_AS]
