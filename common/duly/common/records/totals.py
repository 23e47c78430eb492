"""What the fleet has counted since its store was new, as `totals.lua` writes it.

A count's name begins with its kind: `tick:<outcome>:<reason>`, `run:<event>:<state>`, `late:<bound>`, `late_ms`,
`duty`. Names of other kinds are another version's, and passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

LATENESS_BOUNDS_MS = tuple(2**power for power in range(23))
"""Upper bounds of the classes in which lateness is counted: 1 ms to about 70 minutes; what is later has no bound."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts that only grow."""

    ticks: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """What became of ticks, by outcome and reason of their enqueue events; a drop counts each of its ticks."""
    transitions: Mapping[tuple[str, str], int] = field(default_factory=Counter)
    """Lines of run history, by event and the state it left."""
    lateness: tuple[int, ...] = (0,) * (len(LATENESS_BOUNDS_MS) + 1)
    """Occurrences of ticks, by how long after the tick and its jitter they were made: one number for each of
    LATENESS_BOUNDS_MS, and one for what was later than the last."""
    lateness_ms: int = 0
    """The sum of all lateness."""
    duty_changes: int = 0
    """How often the duty was taken."""


def totals_of(counts: Mapping[str, str]) -> Totals:
    """Read the store's hash of counts; raises ValueError for a count that is no integer."""
    ticks: Counter[tuple[str, str]] = Counter()
    transitions: Counter[tuple[str, str]] = Counter()
    for name, text in counts.items():
        match name.split(":"):
            case ["tick", outcome, reason]:
                ticks[outcome, reason] = int(text)
            case ["run", event, state]:
                transitions[event, state] = int(text)
    bounds = (*(str(bound) for bound in LATENESS_BOUNDS_MS), "over")
    return Totals(
        ticks=ticks,
        transitions=transitions,
        lateness=tuple(int(counts.get(f"late:{bound}", 0)) for bound in bounds),
        lateness_ms=int(counts.get("late_ms", 0)),
        duty_changes=int(counts.get("duty", 0)),
    )
