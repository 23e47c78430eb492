"""Calls of the Lua scripts: by name with keyword arguments, answered in words. See `script_source`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from redis.client import Pipeline
from redis.commands.core import Script as RedisScript
from redis.exceptions import NoScriptError

from duly.common.errors import StoreProtocolError
from duly.common.settings import Settings
from duly.common.store.connection import TEXT_ERRORS, Client
from duly.common.store.keys import Keys
from duly.common.store.script_source import ScriptSource, source

Value: TypeAlias = str | int | bytes


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
        self._stems = Keys(settings.prefix).stems()
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
            keys = self._keys(script)
            named = ["EVALSHA", self._script(script).sha, len(keys), *keys, *self._limits]
            head = self._heads[script.name] = b"".join(map(_packed, named))
        own = values[len(self._limits) :]
        count = 3 + len(script.keys) + len(values)
        connection.send_packed_command(
            [b"*%d\r\n%b%b" % (count, head, b"".join(map(_packed, own)))], check_health=False
        )

    def _reply(self, connection: Any, script: ScriptSource, values: list[Value]) -> list[Any]:
        try:
            found = connection.read_response()
        except NoScriptError:
            found = self._script(script)(keys=self._keys(script), args=values)
        return self.check(script.name, found)

    def check(self, name: str, reply: Any) -> list[Any]:
        """The reply itself when its first word is one that the script's header promises."""
        word = reply[0] if isinstance(reply, list) and reply else None
        if not isinstance(reply, list) or not isinstance(word, str) or word not in source(name).replies:
            raise StoreProtocolError(f"the store's answer to '{name}' is none this version knows")
        return reply

    def _invoke(self, name: str, rest: Iterable[Value], arguments: dict[str, Value], client: Any) -> Any:
        script = source(name)
        return self._script(script)(keys=self._keys(script), args=self._values(script, rest, arguments), client=client)

    def _values(self, script: ScriptSource, rest: Iterable[Value], arguments: dict[str, Value]) -> list[Value]:
        if arguments.keys() != set(script.arguments):
            raise TypeError(f"{script.name} takes {script.arguments}, not {tuple(arguments)}")
        return self._limits + [arguments[each] for each in script.arguments] + list(rest)

    def _keys(self, script: ScriptSource) -> list[str]:
        return [self._stems[name] for name in script.keys]

    def _script(self, script: ScriptSource) -> RedisScript:
        if script.name not in self._registered:
            text = (script.shebang if self._shebang else "") + script.text
            self._registered[script.name] = self._client.register_script(text)
        return self._registered[script.name]


def _packed(value: Value) -> bytes:
    """One argument as it goes to the server."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", TEXT_ERRORS)
    return b"$%d\r\n%b\r\n" % (len(data), data)
