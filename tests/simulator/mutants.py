"""Defects to put in, one at a time: each takes one guard away, and says how it must be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from duly.common.store import script_source, scripts
from tests.simulator.stage import Violation


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defect; ``apply`` puts it in for the time of a block."""

    name: str
    signs: tuple[str, ...]
    """What the violation must say, one of these: caught by anything else it would be caught by a false alarm."""
    apply: Callable[[], Any]

    def __str__(self) -> str:
        return self.name

    def explains(self, violation: Violation | None) -> bool:
        """Whether the violation is one that this defect leads to."""
        return violation is not None and any(sign in str(violation) for sign in self.signs)


def lua(name: str, script: str, guard: str, instead: str, *signs: str) -> Mutant:
    """``guard`` becomes ``instead``. It must stand in the text of ``script``, includes too: a name, some, or ``*``."""

    @contextmanager
    def apply() -> Iterator[None]:
        plain = scripts.source
        concerned = script_source.script_names() if script == "*" else script.split()
        assert any(guard in plain(each).text for each in concerned), f"{name}: the guard is not there any more"

        def mutated(each: str) -> script_source.ScriptSource:
            source = plain(each)
            return replace(source, text=source.text.replace(guard, instead)) if each in concerned else source

        known: dict[str, script_source.ScriptSource] = {}
        with patch.object(scripts, "source", lambda each: known.setdefault(each, mutated(each))):
            yield

    return Mutant(name, signs, apply)


def python(name: str, owner: Any, attribute: str, value: Any, *signs: str) -> Mutant:
    """``value`` in place of a function, method or constant, which must be there."""

    @contextmanager
    def apply() -> Iterator[None]:
        assert hasattr(owner, attribute), f"{name}: there is no {attribute} any more"
        with patch.object(owner, attribute, value):
            yield

    return Mutant(name, signs, apply)


@contextmanager
def put_in(mutant: Mutant) -> Iterator[None]:
    """Inside the block the code has the defect."""
    with mutant.apply():
        yield
