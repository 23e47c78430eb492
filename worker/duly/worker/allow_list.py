"""Which functions RQ jobs may name. Whoever can write to Redis can put any name into a job; only these run."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rq.exceptions import DeserializationError
from rq.job import Job

from duly.common.store.jobs import ATTEMPT_FUNCTION


class AllowList:
    """Our own entry point, functions defined in the task modules, and what the operator allowed besides."""

    def __init__(self, modules: Iterable[str], allowed: Iterable[str]) -> None:
        """``allowed``: full names of functions, or of modules all of whose functions may be named."""
        self._modules = frozenset(modules)
        self._allowed = frozenset(allowed)

    def refusal(self, job: Job) -> str | None:
        """Why the job must not run, in words fit for RQ's record; None when it may."""
        try:
            named, instance = job.func_name, job.instance
        except (DeserializationError, ValueError, TypeError, KeyError):
            return "not run: the job is not JSON (enqueue with RQ's JSONSerializer)"
        if instance is not None or not isinstance(named, str):
            return "not run: only plain functions are allowed"
        callbacks = (job._success_callback_name, job._failure_callback_name, job._stopped_callback_name)
        for name in (named, *(each for each in callbacks if each)):
            if not self.permits(name):
                return "not run: its function is on no allow-list (duly worker -m MODULE or --allow-rq NAME)"
        return None

    def permits(self, name: str) -> bool:
        """Whether a job may call the function of this full name."""
        module, _, attribute = name.rpartition(".")
        if name == ATTEMPT_FUNCTION or name in self._allowed or module in self._allowed:
            return True
        if module not in self._modules:
            return False
        # A name that a task module merely imported (os.system, say) is not its own.
        function = getattr(sys.modules.get(module), attribute, None)
        return callable(function) and getattr(function, "__module__", None) == module
