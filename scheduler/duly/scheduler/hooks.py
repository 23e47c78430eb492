"""Enqueue hooks: callables named in the settings that see each tick before and after it is enqueued.

A hook is called as ``hook(context)``. Before the enqueue it may veto by returning False, and one that raises
makes the tick fail and stay due; afterwards it is only told. Hooks run inside the duty holder's sweep: a slow
hook delays every schedule, and after a crash a tick's first call may be repeated.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from duly.common.errors import InvalidField
from duly.common.records.definition import ScheduleDefinition
from duly.common.store.dispatch import Action, TickOrder

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EnqueueContext:
    """What a hook sees; nothing in it can be changed. ``outcome`` and ``reason`` are known afterwards only."""

    phase: Literal["before", "after"]
    schedule: ScheduleDefinition
    tick_ms: int
    outcome: str | None = None
    reason: str | None = None


Hook = Callable[[EnqueueContext], Any]


def load_hooks(names: Sequence[str]) -> list[Hook]:
    """The callables behind ``package.module:callable`` names; raises InvalidField for one that is none."""
    return [_load(name) for name in names]


def _load(name: str) -> Hook:
    module, _, attribute = name.partition(":")
    try:
        hook = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # a user's module may raise anything when it is imported
        raise InvalidField("DULY_ON_ENQUEUE", f"'{name}' cannot be imported; write package.module:callable") from error
    if not callable(hook):
        raise InvalidField("DULY_ON_ENQUEUE", f"'{name}' is not callable")
    loaded: Hook = hook
    return loaded


class Hooks:
    """The hooks of one scheduler process, called in the order they were named."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = list(hooks)

    @property
    def any(self) -> bool:
        """Whether there is a hook at all: without one nobody needs the definitions."""
        return bool(self._hooks)

    def before(self, schedule: ScheduleDefinition, order: TickOrder) -> TickOrder:
        """The order itself, or what a hook made of it: skipped by a veto, failed by an exception."""
        if order.action is not Action.ENQUEUE:
            return order
        context = EnqueueContext("before", schedule, order.tick_ms)
        for hook in self._hooks:
            try:
                verdict = hook(context)
            except Exception as error:  # noqa: BLE001 - whatever a user's hook raises, the sweep goes on
                self._complain(hook, context, error)
                return replace(order, action=Action.FAIL, reason="hook_error")
            if verdict is False:
                return replace(order, action=Action.SKIP, reason="hook_veto")
        return order

    def after(self, schedule: ScheduleDefinition, tick_ms: int, outcome: str, reason: str) -> None:
        """Tell every hook what became of the tick; what they raise is only logged."""
        context = EnqueueContext("after", schedule, tick_ms, outcome, reason)
        for hook in self._hooks:
            try:
                hook(context)
            except Exception as error:  # noqa: BLE001 - as above
                self._complain(hook, context, error)

    @staticmethod
    def _complain(hook: Hook, context: EnqueueContext, error: Exception) -> None:
        name = getattr(hook, "__qualname__", type(hook).__name__)
        log.error(
            "enqueue hook %s raised %s %s %s@%d",
            name,
            type(error).__name__,
            context.phase,
            context.schedule.schedule_id,
            context.tick_ms,
            extra={"action": "hook_error"},
        )
