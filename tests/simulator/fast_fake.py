"""A client of the quick server for many short runs: redis-py's own, with a gate where its socket would be.

What is left out is checked elsewhere: that what redis-py writes to a socket is what a server reads from it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import redis
from redis.client import Pipeline
from redis.exceptions import ResponseError

from tests.simulator.quick_server import ReplyError, Server, decoded, raised

Request = Callable[[], Any]
Gate = Callable[[tuple[Any, ...], Request], Any]
"""Carries one request out, or does not; given its command and the way to do it."""


def _open(command: tuple[Any, ...], request: Request) -> Any:
    return request()


class FastFake(redis.Redis):
    """A client without a socket, whose every request passes the ``gate``."""

    def __init__(self, server: Server) -> None:
        super().__init__(decode_responses=True)
        self.gate: Gate = _open
        self._server = server
        self._encoder = self.get_encoder()
        self._keys: dict[tuple[Any, ...], list[bytes]] = {}

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return self.gate(args, partial(self.straight, *args, **options))

    def straight(self, *args: Any, **options: Any) -> Any:
        """The same, past the gate: for whoever watches and takes no part."""
        try:
            reply = self._server.execute(args[0], self._encoded(args))
        except ReplyError as error:
            raise raised(error) from None
        return self.parse_response(_Given(reply), args[0], **options)  # type: ignore[no-untyped-call]

    def _encoded(self, args: tuple[Any, ...]) -> list[bytes]:
        """The arguments as they would be sent; the keys of scripts, mostly the same, are encoded once."""
        if args[0] != "EVALSHA":
            return self._bytes_of(args[1:])
        keys = args[1 : 3 + args[2]]
        if keys not in self._keys:
            self._keys[keys] = self._bytes_of(keys)
        return self._keys[keys] + self._bytes_of(args[len(keys) + 1 :])

    def _bytes_of(self, values: tuple[Any, ...]) -> list[bytes]:
        encode: Callable[[Any], bytes] = self._encoder.encode
        return [
            each.encode() if type(each) is str else b"%d" % each if type(each) is int else encode(each)
            for each in values
        ]

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> FastPipeline:
        return FastPipeline(self, transaction)

    def listen(self, channel: str, heard: Callable[[], None]) -> None:
        """Call ``heard`` for every message on the channel."""
        self._server.keyspace.listeners.setdefault(channel.encode(), []).append(heard)

    def peek(self, key: str) -> Any:
        """The server's own value of a key (a hash: a dictionary of bytes), to be read and left alone; None without."""
        self._server.keyspace.look_at_the_clock()
        item = self._server.keyspace.find(key.encode())
        return None if item is None else item.value

    def stream_after(self, key: str, last: Any) -> tuple[list[dict[str, str]], Any]:
        """A stream's entries after an id that this gave before (None: all), oldest first, and the newest id."""
        stream = self.peek(key)
        if stream is None or stream.last_id == last:
            return [], last
        entries = []
        for each in stream.ids[0 if last is None else bisect_right(stream.ids, last) :]:
            flat = [part.decode() for part in stream.entries[each]]
            entries.append(dict(zip(flat[::2], flat[1::2], strict=True)))
        return entries, stream.last_id

    def values(self) -> dict[bytes, Any]:
        """The server's own dictionary of keys; one whose time is over may still be in it."""
        return self._server.keyspace.items


class _Given:
    """A reply where redis-py would read one."""

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    def read_response(self, disable_decoding: bool = False) -> Any:
        return self._reply if disable_decoding else decoded(self._reply)


class FastPipeline(Pipeline):
    """Commands sent together; outside a transaction others may come between them."""

    def __init__(self, client: FastFake, transaction: bool) -> None:
        super().__init__(client.connection_pool, client.response_callbacks, transaction, None)
        self._client, self._atomic = client, transaction

    def execute(self, raise_on_error: bool = True) -> list[Any]:
        for script in self.scripts:
            self._client.straight("SCRIPT LOAD", script.script)
        stack, self.command_stack = self.command_stack, []
        if self._atomic:
            replies = self._client.gate(("MULTI",), lambda: [self._one(each) for each in stack])
        else:
            replies = [self._client.gate(each[0], partial(self._one, each)) for each in stack]
        for reply in replies:
            if raise_on_error and isinstance(reply, Exception):
                raise reply
        return replies  # type: ignore[no-any-return]

    def _one(self, command: Any) -> Any:
        try:
            return self._client.straight(*command[0], **command[1])
        except ResponseError as error:
            return error


def fresh() -> FastFake:
    """A client of an empty server, which knows every script that any of them was given."""
    return FastFake(Server())


@contextmanager
def fast_scripts() -> Iterator[None]:
    """Nothing is left to do here: the quick server is always fast."""
    yield
