"""Whether the modules of tasks can be imported, tried in a process of its own.

The supervisor forks its children; what a module does when it is imported (threads, connections) must not have
happened in it before. And a module that cannot be imported would only show as children that end at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence

from duly.common.cli.text import one_line
from duly.common.errors import DulyError

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_TRIAL = """
import importlib, json, os, sys
sys.path[:] = json.loads(sys.argv[1])
answer = os.dup(1)
os.dup2(2, 1)
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        if os.environ.get("DULY_DEBUG"):
            import traceback
            traceback.print_exc()
        os.write(answer, json.dumps([name, type(error).__name__, str(error)]).encode())
        os._exit(1)
os._exit(0)
"""


class ModuleUnusable(DulyError):
    """A module named with -m cannot be imported."""

    code = "module_unusable"
    field = "module"


def make_importable() -> None:
    """Let modules in the working directory be found, as `python -m` does."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def check_modules(names: Sequence[str]) -> None:
    """Raises ModuleUnusable for the first module that cannot be imported."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise ModuleUnusable(f"module '{name}' is no module name, such as myapp.tasks")
    command = [sys.executable, "-c", _TRIAL, json.dumps(sys.path), *names]
    tried = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if tried.returncode == 0:
        return
    try:
        name, kind, message = json.loads(tried.stdout)
    except ValueError:
        name, kind, message = ", ".join(names), "its import", f"ended the process ({tried.returncode})"
    raise ModuleUnusable(f"module '{name}' cannot be imported: {kind}: {one_line(message)[:300]}")
