"""What is said when an expression is refused."""

from __future__ import annotations

from duly.common.errors import DulyError


class ExpressionError(DulyError, ValueError):
    """A schedule expression was refused; `field` names the part at fault and `problem` what would be right.

    `field` is `spec` for the whole text, or one of `spec.interval`, `spec.timezone`, `spec.second`,
    `spec.minute`, `spec.hour`, `spec.day_of_month`, `spec.month`, `spec.day_of_week`. The message is one line
    of printable ASCII, whatever was in the refused text.
    """

    code = "invalid_spec"

    def __init__(self, field: str, problem: str) -> None:
        # Both arguments go to the base class, or the error could not be unpickled in another process.
        super().__init__(field, problem)
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"
