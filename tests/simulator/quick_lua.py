"""Scripts of the quick server: real Lua 5.1, each compiled once, whose every `redis.call` is a call of a function.

What passes between Lua and the keyspace is converted as Redis converts it. A script that fails is an error reply;
what a script may not count on (a command or option that is not there) is raised as `Unsupported`, through Lua.
Tables of KEYS are made once for each list of keys: no script of the fleet writes into them.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from lupa import lua51  # type: ignore[import-untyped]

from tests.simulator.quick_keyspace import COMMANDS, Keyspace
from tests.simulator.quick_values import ReplyError, Scored, Status, Unsupported, number_text

_PRELUDE = Path(__file__).with_name("quick_prelude.lua")
_SHEBANG = b"#!lua"
_BAD_ARGUMENT = "ERR Lua redis lib command arguments must be strings or integers"
_NULL = object()
"""JSON's null, which is not Lua's nil."""


@cache
def interpreter() -> Interpreter:
    """The process's one interpreter; its scripts are known to every server."""
    return Interpreter()


class Interpreter:
    """Compiled scripts by their SHA-1, and the one runtime they run in."""

    def __init__(self) -> None:
        self._lua = lua51.LuaRuntime(encoding=None, register_eval=False, register_builtins=False)
        functions = (self._call, self._pcall, self._decode, _NULL)
        self._run, self._parts, self._confined = self._lua.execute(_PRELUDE.read_bytes(), *functions)
        self._scripts: dict[bytes, Any] = {}
        self._keys: dict[tuple[bytes, ...], Any] = {}
        self._keyspace = Keyspace()

    def load(self, text: bytes) -> bytes:
        sha = hashlib.sha1(text).hexdigest().encode()
        if sha not in self._scripts:
            head, _, body = text.partition(b"\n")
            try:
                compiled = self._lua.compile(b"\n" + body if head.startswith(_SHEBANG) else text)
            except lua51.LuaError as error:
                raise ReplyError(f"ERR Error compiling script: {_text(error)}") from None
            self._scripts[sha] = self._confined(compiled)
        return sha

    def run(self, keyspace: Keyspace, sha: bytes, arguments: list[bytes]) -> Any:
        """Run a script on the keyspace; ``arguments``: the number of keys, the keys, and what else it is given."""
        script = self._scripts.get(sha)
        if script is None:
            raise ReplyError("NOSCRIPT No matching script. Please use EVAL.")
        end = 1 + int(arguments[0])
        self._keyspace = keyspace
        values = self._lua.table_from(arguments[end:])
        try:
            reply = self._shaped(*self._run(script, self._key_table(tuple(arguments[1:end])), values))
        except lua51.LuaError as error:
            raise ReplyError(f"ERR {_text(error)}") from None
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def _key_table(self, keys: tuple[bytes, ...]) -> Any:
        if keys not in self._keys:
            self._keys[keys] = self._lua.table_from(keys)
        return self._keys[keys]

    # From a script to the keyspace, and back.
    def _call(self, name: bytes, *arguments: Any) -> Any:
        command = COMMANDS.get(name) or COMMANDS.get(name.upper())
        if command is None:
            raise Unsupported(f"{name.decode()} in a script")
        reply = command(self._keyspace, *[each if type(each) is bytes else _argument(each) for each in arguments])
        return reply if type(reply) is bytes or type(reply) is int else self._given(reply)

    def _pcall(self, name: bytes, *arguments: Any) -> Any:
        try:
            return self._call(name, *arguments)
        except ReplyError as error:
            return self._lua.table_from({b"err": str(error).encode()})

    def _given(self, reply: Any) -> Any:
        """A reply as scripts see it: null is false, a hash a flat list, a score text."""
        kind = type(reply)
        if kind is bytes or kind is int:
            return reply
        if reply is None:
            return False
        if kind is float:
            return number_text(reply)
        if kind is Status:
            return self._lua.table_from({b"ok": bytes(reply)})
        if kind is dict:
            return self._lua.table_from(list(chain.from_iterable(reply.items())))
        if kind is Scored:
            reply = chain.from_iterable((member, number_text(score)) for member, score in reply)
        return self._lua.table_from([each if type(each) is bytes else self._given(each) for each in reply])

    # What a script returns.
    def _shaped(self, kind: bytes, what: Any, *values: Any) -> Any:
        if kind == b"array":
            return [each if type(each) is bytes else self._one(each) for each in values]
        if kind == b"one":
            return self._one(what)
        if kind == b"long":
            raise Unsupported(f"a reply of {what} values")
        return Status(what) if kind == b"status" else ReplyError(what.decode())

    def _one(self, value: Any) -> Any:
        if value is None or type(value) is bytes:
            return value
        if type(value) is bool:
            return 1 if value else None
        if type(value) is int or type(value) is float:
            return int(value)
        return None if lua51.lua_type(value) != "table" else self._shaped(*self._parts(value))

    def _decode(self, text: bytes) -> Any:
        try:
            found = json.loads(text, parse_int=float, strict=False)
        except ValueError as error:
            raise ReplyError(f"ERR {error}") from None
        value = _for_lua(found)
        return self._lua.table_from(value, recursive=True) if isinstance(value, dict | list) else value


def _argument(value: Any) -> bytes:
    if type(value) is not int and type(value) is not float:
        raise ReplyError(_BAD_ARGUMENT)
    return number_text(value)


def _for_lua(value: Any) -> Any:
    """What JSON gave, with text as bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict):
        return {key.encode(): _for_lua(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_for_lua(each) for each in value]
    return _NULL if value is None else value


def _text(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
