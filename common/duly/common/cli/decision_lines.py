"""The evidence that a decision was made from, as a terminal shows it: what blocks is marked."""

from __future__ import annotations

from rich.console import RenderableType

from duly.common.cli import output
from duly.common.explain.judged import Judged

BLOCKS = "!"


def evidence(judged: Judged) -> RenderableType:
    """The eighteen fields and what was observed beside them, one line each; ``!`` before those that block."""
    rows, facts = [], judged.facts
    for fact in (*facts.evidence, *facts.observed):
        style = "bold red" if fact.blocks else ""
        mark = output.cell(BLOCKS if fact.blocks else " ", style)
        rows.append((mark, output.cell(fact.name, style or "dim"), fact.value))
    return output.columns(rows)
