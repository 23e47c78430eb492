"""Specimens that each parser carries with it, for readers and for tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A text that a parser accepts, or refuses by naming `refused_field`; `why` says what it shows."""

    text: str
    why: str
    refused_field: str | None = None

    @property
    def accepted(self) -> bool:
        return self.refused_field is None
