"""What is said, and with which status, when something cannot be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duly.common.errors import DulyError
from duly.common.explain.text import one_line
from duly.scheduler.control.problems import MOST_FAULTS, Problem, of_error

LONGEST_LINE = 600
# The store speaks of commands where the console has a button.
_HERE = {
    "held": "The schedule is quarantined: resolve its holds first.",
    "paused": "The schedule is paused; resume it first.",
    "retry_budget_exhausted": "It has used all its attempts: allow extra attempts, or choose another outcome.",
    "revision_conflict": "Somebody changed the schedule since you opened this page; look at it again, then repeat.",
    "hold_changed": "The record changed since you opened this page; look again, then say what you found now.",
}
_TITLES = {
    400: "That cannot be read",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not on record",
    409: "Not done",
    413: "Too long",
    415: "Not a form",
    422: "Not valid",
    423: "Held",
    429: "Queue full",
    503: "Redis cannot be reached",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One line for a person. ``code`` is stable; ``field`` names the field at fault, where one is."""

    status: int
    message: str
    code: str
    field: str | None = None
    faults: Sequence[tuple[str, str]] = ()
    """Every field at fault with what is wrong with it, where there are several."""

    @property
    def title(self) -> str:
        wrong = self.code == "unexpected"
        return "Something went wrong" if wrong else _TITLES.get(self.status, "Something went wrong")

    @property
    def inputs(self) -> set[str]:
        """The names of a form's inputs that are to be looked at."""
        fields = [self.field] if self.field else [name for name, _ in self.faults]
        names = {name.replace("backoff.", "backoff_").partition(".")[0] for name in fields}
        return names | {f"backoff_{each}" for each in ("base_ms", "factor", "max_ms") if "backoff" in names}

    @property
    def away(self) -> bool:
        """Whether the store cannot serve, and the page should try again by itself."""
        return self.code == "store_unavailable"


def describe(error: DulyError) -> Failure:
    """The failure behind an error that was raised on purpose; its status is the API's."""
    return of_problem(of_error(error))


def of_problem(problem: Problem) -> Failure:
    """The same for what the API would answer."""
    message = _HERE.get(problem.code) or one_line(problem.detail)[:LONGEST_LINE]
    if len(problem.errors) > 1:
        faults = [(each.field, one_line(each.message)[:LONGEST_LINE]) for each in problem.errors[:MOST_FAULTS]]
        return Failure(int(problem.status), message, problem.code, faults=faults)
    fault = problem.errors[0].field if problem.errors else None
    return Failure(int(problem.status), message, problem.code, fault)
