"""Decisions of the contract as a terminal shows them: what they allow, then their code."""

from __future__ import annotations

from rich.text import Text

from duly.common.cli import output
from duly.common.contract import Decision, Verdict

_ALLOWS: dict[str, str] = {
    Decision.CALENDAR_RUN_REVIEW_REQUIRED: "may run",
    Decision.BOUNDED_CATCH_UP_REVIEW_REQUIRED: "may run: a bounded catch-up",
    Decision.INTERVAL_RUN_REVIEW_REQUIRED: "may run",
}


def decision_cell(verdict: Verdict) -> Text:
    """The decision in the colour of what it means."""
    style = "bold red" if verdict.decision.holds else "green" if verdict.runs else "yellow"
    return code_cell(verdict.decision.value, style)


def code_cell(code: str, style: str = "") -> Text:
    """The code of a decision, after what it allows: its name alone would seem to ask somebody for a review."""
    allows = _ALLOWS.get(code)
    return output.cell(code, style) if allows is None else Text.assemble((allows, style), (f" ({code})", "dim"))
