"""The texts of the Lua scripts, and the interface that each states.

The header of each file is its interface, and the only place that states it: ``-- ARGV:`` names the arguments
(bound to locals of the same names; a trailing ``name...`` takes the rest), ``-- Replies:`` the words it may
answer, ``-- include:`` the fragments it shares, which may include others, and ``-- Writes: nothing`` that it may run
where nothing can be written. Every script is also given the names of the keys that it speaks of (see
`duly.common.store.keys.Keys.stems`), the fleet's limits and who asks.

Fragments are nothing but definitions, each from the start of a line. A script takes those that it uses, and no others:
a server makes all functions of a script anew each time it runs, which for a short one is a fifth of its work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from duly.common.store.keys import Keys

LIMITS = ("retention_ms", "schedule_history", "fleet_history", "redelivery_ms", "actor")
"""What every script is given besides its own arguments: the fleet's limits, and who asks."""
# Without this first line a script that runs into the memory limit stops half-way; with it, it is refused
# before it starts.
SHEBANG = "#!lua\n"
READ_ONLY = "#!lua flags=no-writes\n"

_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_NO_CODE = re.compile(r"'[^'\n]*'|--.*")
_DEFINITION = re.compile(r"^local (?:function )?(\w+).*?\n(?=local |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """One script: its Lua text, complete with what it includes, and the interface its header states."""

    name: str
    text: str
    keys: tuple[str, ...]
    """The stems of the keys that it speaks of, in the order in which it is given them."""
    arguments: tuple[str, ...]
    rest: str | None
    replies: frozenset[str]
    writes: bool = True

    @property
    def shebang(self) -> str:
        """The first line for a server: what may be refused, and when."""
        return SHEBANG if self.writes else READ_ONLY


@cache
def source(name: str) -> ScriptSource:
    """Read the script called ``name``; raises FileNotFoundError when there is none."""
    header = (files("duly.common.store") / "lua" / f"{name}.lua").read_text("utf-8")
    body = _COMMENT.sub("", header)
    code = _used(_library(header).values(), body) + body
    words = _words(code)
    keys = tuple(stem for stem in Keys().stems() if stem in words)
    names = _header(header, "ARGV").split()
    rest = names.pop().removesuffix("...") if names and names[-1].endswith("...") else None
    return ScriptSource(
        name=name,
        text=_bindings(keys, tuple(names), rest) + code,
        keys=keys,
        arguments=tuple(names),
        rest=rest,
        replies=frozenset(_header(header, "Replies").split(" | ")),
        writes=_header(header, "Writes") != "nothing",
    )


def script_names() -> list[str]:
    """The names of all scripts, in alphabetical order."""
    folder = files("duly.common.store") / "lua"
    return sorted(each.name.removesuffix(".lua") for each in folder.iterdir() if each.name.endswith(".lua"))


def _library(text: str) -> dict[str, str]:
    """The fragments that a text includes, by name, each after those that it needs itself."""
    found: dict[str, str] = {}
    for name in re.findall(r"^-- include: (\w+)$", text, re.MULTILINE):
        fragment = (files("duly.common.store") / "lua" / "lib" / f"{name}.lua").read_text("utf-8")
        found |= {**_library(fragment), name: fragment}
    return found


def _used(fragments: Iterable[str], body: str) -> str:
    """The definitions of the fragments that the body needs, and that those need, in their order."""
    needed, kept = _words(body), list[str]()
    for found in reversed(list(_DEFINITION.finditer(_COMMENT.sub("", "".join(fragments))))):
        if found.group(1) in needed:
            kept.append(found.group())
            needed |= _words(found.group())
    return "".join(reversed(kept))


def _words(code: str) -> set[str]:
    """The names in a text, but for those of fields."""
    return set(re.findall(r"(?<![\w)\]]\.)\b[A-Za-z_]\w*", _NO_CODE.sub("", code)))


def _header(body: str, label: str) -> str:
    found = re.search(rf"^-- {label}:(.*)$", body, re.MULTILINE)
    return found.group(1).strip() if found else ""


def _bindings(keys: tuple[str, ...], names: tuple[str, ...], rest: str | None) -> str:
    bound = LIMITS + names
    lines = [_binding(names, table) for names, table in ((keys, "KEYS"), (bound, "ARGV")) if names]
    if rest:
        # unpack() would stop at some thousands of values.
        lines.append(f"local {rest} = {{}} for n = {len(bound) + 1}, #ARGV do {rest}[#{rest} + 1] = ARGV[n] end")
    return "\n".join(lines) + "\n"


def _binding(names: tuple[str, ...], table: str) -> str:
    return f"local {', '.join(names)} = {', '.join(f'{table}[{n}]' for n in range(1, len(names) + 1))}"
