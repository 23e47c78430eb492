"""What is said, and with which status, when something cannot be done."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.errors import DulyError
from duly.common.explain.text import one_line
from duly.scheduler.control.problems import Problem, of_error

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

    @property
    def title(self) -> str:
        wrong = self.code == "unexpected"
        return "Something went wrong" if wrong else _TITLES.get(self.status, "Something went wrong")

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
    fault = problem.errors[0].field if problem.errors else None
    return Failure(int(problem.status), message, problem.code, fault)
