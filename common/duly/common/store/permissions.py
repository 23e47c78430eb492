"""Whether the Redis user may make every call that the scripts make: half a transition is worse than none."""

from __future__ import annotations

import json
import re
from functools import cache

from duly.common.store.connection import translated
from duly.common.store.keys import Keys
from duly.common.store.script_source import script_names, source
from duly.common.store.scripts import Scripts

_CALL = re.compile(r"redis\.p?call\('([A-Z]+)', (\w+)")
_HEARD = ("WAKE", "DUTY_FREE")


class Permissions:
    """The rights of one connection's user."""

    def __init__(self, keys: Keys, scripts: Scripts) -> None:
        self._stems = keys.stems()
        self._scripts = scripts

    def refused(self) -> list[str]:
        """The calls that the user may not make, each as command and key or channel; empty when nothing is wrong.

        A name that ends in `:` stands for all that begin so. Raises StoreUnavailable.
        """
        calls = [(command, self._stems[name]) for command, name in _calls()]
        calls += [("SUBSCRIBE", self._stems[name]) for name in _HEARD]
        with translated():
            return list(self._scripts.call("permitted", calls=json.dumps(calls))[1])


@cache
def _calls() -> list[tuple[str, str]]:
    """Commands with the names of the stems that the scripts call them with, as their texts have them."""
    found = {call for name in script_names() for call in _CALL.findall(source(name).text)}
    stems = Keys().stems()
    # A key that a script has made up before is some key of the fleet's.
    return sorted({(command, name if name in stems else "SCHEDULE") for command, name in found})
