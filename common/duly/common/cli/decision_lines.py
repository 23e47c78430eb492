"""A decision and the evidence it was made from, as a terminal shows them: what blocks is marked."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import output
from duly.common.contract import Verdict
from duly.common.explain.judged import Judged

BLOCKS = "!"


def decision_cell(verdict: Verdict) -> Text:
    """The decision's code in the colour of what it means."""
    style = "bold red" if verdict.decision.holds else "green" if verdict.runs else "yellow"
    return output.cell(verdict.decision.value, style)


def evidence(judged: Judged) -> RenderableType:
    """The eighteen fields and what was observed beside them, one line each; ``!`` before those that block."""
    rows, facts = [], judged.facts
    for fact in (*facts.evidence, *facts.observed):
        style = "bold red" if fact.blocks else ""
        mark = output.cell(BLOCKS if fact.blocks else " ", style)
        rows.append((mark, output.cell(fact.name, style or "dim"), fact.value))
    return output.columns(rows)
