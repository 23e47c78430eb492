"""The Lua scripts: loaded from their files, called by name with keyword arguments, answered in words.

The header of each file is its interface, and the only place that states it: ``-- ARGV:`` names the arguments
(bound to locals of the same names; a trailing ``name...`` takes the rest), ``-- Replies:`` the words it may
answer, ``-- include:`` the fragments it shares, which may include others, and ``-- Writes: nothing`` that it may run
where nothing can be written. Every script is also given all key names (see `duly.common.store.keys.Keys.stems`), the
fleet's limits and who asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from redis.client import Pipeline
from redis.commands.core import Script as RedisScript
from redis.exceptions import NoScriptError

from duly.common.errors import StoreProtocolError
from duly.common.settings import Settings
from duly.common.store.connection import Client
from duly.common.store.keys import Keys

LIMITS = ("retention_ms", "schedule_history", "fleet_history", "redelivery_ms", "actor")
"""What every script is given besides its own arguments: the fleet's limits, and who asks."""
# Without this first line a script that runs into the memory limit stops half-way; with it, it is refused
# before it starts.
SHEBANG = "#!lua\n"
READ_ONLY = "#!lua flags=no-writes\n"

Value: TypeAlias = str | int | bytes


@dataclass(frozen=True, slots=True)
class ScriptSource:
    """One script file: its Lua text, complete with what it includes, and the interface its header states."""

    name: str
    text: str
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
    folder = files("duly.common.store") / "lua"
    body = (folder / f"{name}.lua").read_text("utf-8")
    names = _header(body, "ARGV").split()
    rest = names.pop().removesuffix("...") if names and names[-1].endswith("...") else None
    library = "".join(_library(body).values())
    return ScriptSource(
        name=name,
        text=_bindings(tuple(names), rest) + library + body,
        arguments=tuple(names),
        rest=rest,
        replies=frozenset(_header(body, "Replies").split(" | ")),
        writes=_header(body, "Writes") != "nothing",
    )


def script_names() -> list[str]:
    """The names of all scripts, in alphabetical order."""
    folder = files("duly.common.store") / "lua"
    return sorted(each.name.removesuffix(".lua") for each in folder.iterdir() if each.name.endswith(".lua"))


def _library(body: str) -> dict[str, str]:
    """The fragments that a text includes, by name, each after those that it needs itself."""
    found: dict[str, str] = {}
    for name in re.findall(r"^-- include: (\w+)$", body, re.MULTILINE):
        fragment = (files("duly.common.store") / "lua" / "lib" / f"{name}.lua").read_text("utf-8")
        found |= {**_library(fragment), name: fragment}
    return found


def _header(body: str, label: str) -> str:
    found = re.search(rf"^-- {label}:(.*)$", body, re.MULTILINE)
    return found.group(1).strip() if found else ""


def _bindings(names: tuple[str, ...], rest: str | None) -> str:
    stems = list(Keys().stems())
    lines = [f"local {', '.join(stems)} = {', '.join(f'KEYS[{n}]' for n in range(1, len(stems) + 1))}"]
    bound = LIMITS + names
    lines.append(f"local {', '.join(bound)} = {', '.join(f'ARGV[{n}]' for n in range(1, len(bound) + 1))}")
    if rest:
        # unpack() would stop at some thousands of values.
        lines.append(f"local {rest} = {{}} for n = {len(bound) + 1}, #ARGV do {rest}[#{rest} + 1] = ARGV[n] end")
    return "\n".join(lines) + "\n"


class Asked:
    """A call that was sent. Its reply is asked for once; or it is dropped, and then it is not known what it did."""

    def __init__(self, reply: Callable[[], list[Any]], close: Callable[[], None]) -> None:
        self._reply = reply
        self._close = close

    def reply(self) -> list[Any]:
        """Wait for the reply. Raises what `Scripts.call` raises."""
        try:
            return self._reply()
        finally:
            self._close()

    def drop(self) -> None:
        """Nobody wants the reply any more."""
        self._close()


class Scripts:
    """Calls scripts on one connection.

    `call` returns the reply as a list whose first element is one of the words of the script's header; any other
    word raises StoreProtocolError. Connection and server errors are raised as redis-py raises them.
    """

    def __init__(self, client: Client, settings: Settings, *, shebang: bool, actor: str = "") -> None:
        self._client = client
        self._shebang = shebang
        self._keys = list(Keys(settings.prefix).stems().values())
        self._limits: list[Value] = [
            settings.retention_ms,
            settings.schedule_history,
            settings.fleet_history,
            settings.redelivery_ms,
            actor,
        ]
        self._registered: dict[str, RedisScript] = {}
        self._line: Any = None
        self._heads: dict[str, bytes] = {}

    @contextmanager
    def on_one_line(self) -> Iterator[None]:
        """Inside the block all calls go over one connection, and without the client's ceremonies: for one thread only.

        Half of what a short call costs its caller are those: a connection from the pool, which is looked at whether it
        is still good, and the same names packed again and again.
        """
        if not self._shebang:
            yield
            return
        pool = self._client.connection_pool
        self._line = pool.get_connection()
        try:
            yield
        finally:
            line, self._line = self._line, None
            pool.release(line)

    def call(self, name: str, rest: Iterable[Value] = (), /, **arguments: Value) -> list[Any]:
        """Run one script now and return its reply."""
        if self._line is None:
            return self.check(name, self._invoke(name, rest, arguments, self._client))
        with self.started(name, rest, **arguments) as reply:
            return reply()

    def queue(self, pipeline: Pipeline, name: str, rest: Iterable[Value] = (), /, **arguments: Value) -> None:
        """Put a call into a pipeline; give each of its replies to `check`."""
        self._invoke(name, rest, arguments, pipeline)

    @contextmanager
    def started(
        self, name: str, rest: Iterable[Value] = (), /, **arguments: Value
    ) -> Iterator[Callable[[], list[Any]]]:
        """Send a call; inside the block the server is at work on it, and what the block is given waits for the reply.

        A reply that nobody asked for is dropped, together with its connection: whether the call took effect is then
        unknown. Raises what `call` raises, on entering or when the reply is asked for.
        """
        if not self._shebang:  # a fake has no socket to wait at
            yield lambda: self.call(name, rest, **arguments)
            return
        script, values = source(name), self._values(source(name), rest, arguments)
        pool = self._client.connection_pool
        connection, answered = self._line or pool.get_connection(), False

        def reply_of_server() -> list[Any]:
            nonlocal answered
            reply = self._reply(connection, script, values)
            answered = True
            return reply

        try:
            self._send(connection, script, values)
            yield reply_of_server
        finally:
            if not answered:
                connection.disconnect()
            if connection is not self._line:
                pool.release(connection)

    def ask(self, name: str, rest: Iterable[Value] = (), /, **arguments: Value) -> Asked:
        """Send a call now, whose reply is asked for later or never. Raises what `call` raises.

        Whatever is sent after it, over other connections, comes after it in all likelihood, and not for certain.
        """
        if not self._shebang:
            reply = self.call(name, rest, **arguments)
            return Asked(lambda: reply, lambda: None)
        call = ExitStack()
        return Asked(call.enter_context(self.started(name, rest, **arguments)), call.close)

    def _send(self, connection: Any, script: ScriptSource, values: list[Value]) -> None:
        head = self._heads.get(script.name)
        if head is None:
            named = ["EVALSHA", self._script(script).sha, len(self._keys), *self._keys, *self._limits]
            head = self._heads[script.name] = b"".join(map(_packed, named))
        own = values[len(self._limits) :]
        count = 3 + len(self._keys) + len(values)
        connection.send_packed_command(
            [b"*%d\r\n%b%b" % (count, head, b"".join(map(_packed, own)))], check_health=False
        )

    def _reply(self, connection: Any, script: ScriptSource, values: list[Value]) -> list[Any]:
        try:
            found = connection.read_response()
        except NoScriptError:
            found = self._script(script)(keys=self._keys, args=values)
        return self.check(script.name, found)

    def check(self, name: str, reply: Any) -> list[Any]:
        """The reply itself when its first word is one that the script's header promises."""
        word = reply[0] if isinstance(reply, list) and reply else None
        if not isinstance(reply, list) or not isinstance(word, str) or word not in source(name).replies:
            raise StoreProtocolError(f"the store's answer to '{name}' is none this version knows")
        return reply

    def _invoke(self, name: str, rest: Iterable[Value], arguments: dict[str, Value], client: Any) -> Any:
        script = source(name)
        return self._script(script)(keys=self._keys, args=self._values(script, rest, arguments), client=client)

    def _values(self, script: ScriptSource, rest: Iterable[Value], arguments: dict[str, Value]) -> list[Value]:
        if arguments.keys() != set(script.arguments):
            raise TypeError(f"{script.name} takes {script.arguments}, not {tuple(arguments)}")
        return self._limits + [arguments[each] for each in script.arguments] + list(rest)

    def _script(self, script: ScriptSource) -> RedisScript:
        if script.name not in self._registered:
            text = (script.shebang if self._shebang else "") + script.text
            self._registered[script.name] = self._client.register_script(text)
        return self._registered[script.name]


def _packed(value: Value) -> bytes:
    """One argument as it goes to the server."""
    data = value if isinstance(value, bytes) else str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)
