"""Small line charts as one SVG text: a panel for each figure, a logarithmic axis for the number of schedules. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tests.benchmarks.measuring import in_short

WIDTH, HEIGHT = 300, 200
COLUMNS = 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 24, 24, 48, 32
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-weight:bold;font-size:12px}"
    ".axis{stroke:#999}.line{fill:none;stroke:#1f5fa8;stroke-width:2}.dot{fill:#1f5fa8}.value{text-anchor:middle}"
    ".size{text-anchor:middle;fill:#666}"
)


@dataclass(frozen=True)
class Panel:
    """One figure: its value for each number of schedules, in rising order."""

    title: str
    unit: str
    points: Sequence[tuple[int, float]]


def chart(panels: Sequence[Panel]) -> str:
    """The panels side by side, each from zero to its largest value, with every value written at its point."""
    columns = min(len(panels), COLUMNS) or 1
    width, height = columns * WIDTH, -(-len(panels) // columns) * HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f'<style>{_STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, panel in enumerate(panels):
        x, y = number % columns * WIDTH, number // columns * HEIGHT
        lines += [f'<g transform="translate({x} {y})">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _panel(panel: Panel) -> Iterator[str]:
    yield f'<text class="title" x="{_LEFT}" y="20">{escape(panel.title)}, {escape(panel.unit)}</text>'
    bottom = HEIGHT - _BOTTOM
    yield f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{WIDTH - _RIGHT}" y2="{bottom}"/>'
    places = list(_places(panel.points))
    if len(places) > 1:
        yield f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>'
    for (size, value), (x, y) in zip(panel.points, places, strict=True):
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        yield f'<text class="value" x="{x:.1f}" y="{y - 8:.1f}">{in_short(value)}</text>'
        yield f'<text class="size" x="{x:.1f}" y="{bottom + 16}">{in_thousands(size)}</text>'


def _places(points: Sequence[tuple[int, float]]) -> Iterator[tuple[float, float]]:
    if not points:
        return
    first, last = math.log10(points[0][0]), math.log10(points[-1][0])
    highest = max(value for _, value in points) or 1.0
    inner, bottom = 20, HEIGHT - _BOTTOM
    for size, value in points:
        share = (math.log10(size) - first) / (last - first) if last > first else 0.5
        x = _LEFT + inner + share * (WIDTH - _LEFT - _RIGHT - 2 * inner)
        yield x, bottom - value / highest * (bottom - _TOP)


def in_thousands(size: int) -> str:
    """``1M``, ``100k``, ``999``: a number of schedules on an axis."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)
