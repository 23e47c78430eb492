"""The registry of tasks: the allow-list of everything that an occurrence can run."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar

from duly.common.errors import InvalidField
from duly.common.records.occurrence import Effects

_P = ParamSpec("_P")
_R = TypeVar("_R")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", re.ASCII)

Probe = Callable[[str], str]
"""Given an idempotency key, answers COMMITTED, NO_COMMITTED_RESULT or UNKNOWN."""


@dataclass(frozen=True, slots=True)
class Task:
    """A function that occurrences may run, and what its effect allows after an unknown outcome."""

    name: str
    function: Callable[..., Any]
    effects: Effects
    probe: Probe | None = None


_tasks: dict[str, Task] = {}


def task(
    name: str, *, effects: Literal["idempotent", "guarded", "unsafe"] = "unsafe", probe: Probe | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Register the decorated function under ``name``, which schedules refer to. The function is returned as it is.

    ``effects`` says what may follow when an attempt ends without a recorded outcome (a killed worker, a
    time-out): ``idempotent`` is tried again inside its budget; ``guarded`` is tried again when ``probe``, called
    with the idempotency key, answers ``NO_COMMITTED_RESULT``; ``unsafe``, the default, is held for the reviewer.

    An exception raised by the function means that it failed and left no effect; it is retried inside the budget.
    Raises InvalidField for an unusable or repeated name, unknown effects, or a probe missing or out of place.
    """
    if not isinstance(name, str):
        raise InvalidField("task", 'needs a name, as in @task("docs.refresh")')
    if not _NAME.fullmatch(name):
        raise InvalidField("task", f"{name[:40]!a} is no task name: letters, digits, '_', '.', ':' and '-'")
    try:
        declared = Effects(effects)
    except ValueError:
        raise InvalidField("effects", f"task '{name}': must be 'idempotent', 'guarded' or 'unsafe'") from None
    if (declared is Effects.GUARDED) != (probe is not None):
        raise InvalidField("probe", f"task '{name}': effects='guarded' needs a probe, and nothing else takes one")

    def register(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise InvalidField("task", f"'{name}' is a generator, which calling does not run; write a plain function")
        known = _tasks.get(name)
        if known is not None and _origin(known.function) != _origin(function):
            raise InvalidField(
                "task", f"'{name}' is registered twice, by {_origin(known.function)} and {_origin(function)}"
            )
        _tasks[name] = Task(name, function, declared, probe)
        return function

    return register


def find_task(name: str) -> Task | None:
    """The registered task, or None: then nothing may run."""
    return _tasks.get(name)


def task_names() -> list[str]:
    """The names of all registered tasks, sorted."""
    return sorted(_tasks)


def import_task_modules(names: Iterable[str]) -> None:
    """Import the modules whose tasks this process may run; also finds modules in the working directory.

    Raises InvalidField naming the module that could not be imported, never its traceback.
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    for name in names:
        try:
            importlib.import_module(name)
        except InvalidField:
            raise
        except Exception as error:
            raise InvalidField("--module", f"'{name}' cannot be imported: {type(error).__name__}") from error


def _origin(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
