"""Copies of a process, which a task made by forking and which come back from it: they speak for nobody.

What an attempt came to is for the process to say that the task was started in; only that one may ask for its lease.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable
from typing import NoReturn, TypeVar

log = logging.getLogger(__name__)
_Result = TypeVar("_Result")


def in_this_process(function: Callable[[], _Result]) -> _Result:
    """Call the function. In any other process that comes back from it, this ends that process and does not return.

    It ends as Python would: with the code of its SystemExit, with 1 after any other exception, else with 0.
    """
    process = os.getpid()
    try:
        result = function()
    except BaseException as error:
        if os.getpid() != process:
            _end(error)
        raise
    if os.getpid() != process:
        _end(None)
    return result


def flush() -> None:
    """Write what was printed: a process that ends without ceremony does not."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _end(error: BaseException | None) -> NoReturn:
    if isinstance(error, Exception):
        log.error("a process that the task forked ended by %s", type(error).__name__, extra={"action": "copy_ended"})
    flush()
    os._exit(_code(error))


def _code(error: BaseException | None) -> int:
    if error is None:
        return 0
    code = error.code if isinstance(error, SystemExit) else 1
    return 0 if code is None else code & 0xFF if isinstance(code, int) else 1
