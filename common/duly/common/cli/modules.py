"""Whether the modules of tasks and the enqueue hooks can be imported, tried in a process of its own.

The supervisor forks its children; what a module does when it is imported (threads, connections) must not have
happened in it before. And what cannot be imported would only show as children that end at once, for ever.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from duly.common.errors import DulyError
from duly.common.explain.text import one_line

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_HOOK = re.compile(rf"{_NAME.pattern}:[^\W\d]\w*")
_TRIAL = """
import importlib, json, os, sys, sysconfig, traceback
library = tuple(sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
def place(error):
    if isinstance(error, SyntaxError) and error.filename:
        return [error.filename, error.lineno]
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith("<")]
    import duly
    known = library + tuple(each + os.sep for each in duly.__path__)
    own = [each for each in frames if not each.filename.startswith(known)]
    installed = [each for each in frames if "-packages" + os.sep in each.filename]
    found = (own or installed)[-1:]
    return [found[0].filename, found[0].lineno] if found else None
sys.path[:] = json.loads(sys.argv[1])
answer = os.dup(1)
os.dup2(2, 1)
for name in sys.argv[2:]:
    try:
        module, colon, attribute = name.partition(":")
        found = importlib.import_module(module)
        if colon and not callable(getattr(found, attribute)):
            raise TypeError(attribute + " is not callable")
    except BaseException as error:
        if os.environ.get("DULY_DEBUG"):
            traceback.print_exc()
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        answer_json = json.dumps([name, type(error).__name__, str(said)[:1000], place(error), missing])
        os.write(answer, answer_json.encode())
        os._exit(1)
registry = sys.modules.get("duly.worker.tasks")
os.write(answer, json.dumps(registry.task_names() if registry else []).encode())
os._exit(0)
"""


class ModuleUnusable(DulyError):
    """A module named with -m cannot be imported."""

    code = "module_unusable"
    field = "module"


class HookUnusable(DulyError):
    """An enqueue hook named in DULY_ON_ENQUEUE cannot be imported or called."""

    code = "hook_unusable"
    field = "DULY_ON_ENQUEUE"


def make_importable() -> None:
    """Let modules in the working directory be found, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def check_modules(names: Sequence[str]) -> list[str]:
    """The names of the tasks in the modules; raises ModuleUnusable for the first one that cannot be imported."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise ModuleUnusable(f"module '{name}' is no module name, such as myapp.tasks")
    answer, fault = _try(names)
    if fault is not None:
        raise ModuleUnusable(f"module '{fault.name}' cannot be imported: {fault.why}")
    return _tasks(answer)


def check_hooks(names: Sequence[str]) -> None:
    """Raises HookUnusable for the first of these enqueue hooks that a scheduler could not use."""
    for name in names:
        if not _HOOK.fullmatch(name):
            raise HookUnusable(f"DULY_ON_ENQUEUE: '{name}' is no hook, such as myapp.hooks:before_enqueue")
    if not names:
        return
    _, fault = _try(names)
    if fault is not None:
        raise HookUnusable(f"DULY_ON_ENQUEUE: '{fault.name}' cannot be used: {fault.why}")


class _Fault(NamedTuple):
    name: str
    why: str


def _try(names: Sequence[str]) -> tuple[bytes, _Fault | None]:
    """What the trial wrote, and the first name that did not pass."""
    command = [sys.executable, "-c", _TRIAL, json.dumps(sys.path), *names]
    tried = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if tried.returncode == 0:
        return tried.stdout, None
    try:
        name, kind, message, place, missing = json.loads(tried.stdout)
    except ValueError:
        name, kind, message, place, missing = _ended(names, tried.returncode)
    why, module = f"{kind}: {one_line(message)[:300]}", name.partition(":")[0]
    if place:
        why += f" ({_path(place[0])}, line {place[1]})"
    elif missing and f"{module}.".startswith(f"{missing}."):
        why += f"; run it where {_lies(module)} lies, or set PYTHONPATH"
    return tried.stdout, _Fault(name, why)


def _tasks(answer: bytes) -> list[str]:
    try:
        return [str(name) for name in json.loads(answer)]
    except (ValueError, TypeError):  # a module may write what it likes, and end the process as it likes
        return []


def _ended(names: Sequence[str], code: int) -> tuple[str, str, str, None, None]:
    return ", ".join(names), "its import", f"ended the process ({code})", None, None


def _path(file: str) -> str:
    """The file as seen from the working directory, if it is below it."""
    here = os.getcwd() + os.sep
    return file.removeprefix(here)


def _lies(name: str) -> str:
    package, dot, _ = name.partition(".")
    return f"{package}/" if dot else f"{name}.py"
