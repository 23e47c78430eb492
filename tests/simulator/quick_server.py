"""A small exact Redis in memory, for many short runs: no sockets, no locks, nothing that the fleet does not use.

It answers as Redis 7 does (`test_quick_server` compares it, reply by reply, with fakeredis and with a real server),
except where these say otherwise: `quick_ordered.xadd` (which entries ``MAXLEN ~`` lets go of), `quick_ordered.xread`
(it never waits) and `quick_commands.scan` (all keys at once). The words of an error may differ, its class and code do
not. Whatever the server does not have raises `Unsupported`, and a wrong number of arguments to a command that takes a
fixed number of them raises TypeError: neither can be taken for an answer.

One thread at a time may use it.
"""

from __future__ import annotations

from typing import Any

from redis._parsers.base import BaseParser

from tests.simulator import quick_commands, quick_ordered
from tests.simulator.quick_keyspace import COMMANDS, Keyspace
from tests.simulator.quick_lua import interpreter
from tests.simulator.quick_values import ReplyError, Scored, Status, Unsupported

__all__ = ["ReplyError", "Server", "Unsupported", "decoded", "quick_commands", "quick_ordered", "raised"]


class Server:
    """An empty server, with the scripts that any server of the process was ever given."""

    def __init__(self) -> None:
        self.keyspace = Keyspace()
        self._interpreter = interpreter()

    def execute(self, name: str, arguments: list[bytes]) -> Any:
        """Carry out one command at the present instant. Raises ReplyError for what Redis would refuse."""
        keyspace = self.keyspace
        keyspace.look_at_the_clock()
        if name == "EVALSHA":
            return self._interpreter.run(keyspace, arguments[0], arguments[1:])
        command = COMMANDS.get(name.upper().encode())
        if command is not None:
            return command(keyspace, *arguments)
        if name == "SCRIPT LOAD":
            return self._interpreter.load(*arguments)
        raise Unsupported(name)


def raised(error: ReplyError) -> Exception:
    """An error reply as redis-py raises it."""
    found: Exception = BaseParser.parse_error(str(error))  # type: ignore[no-untyped-call]
    return found


def decoded(reply: Any) -> Any:
    """A reply with its bytes read as text, as a client sees it that decodes."""
    kind = type(reply)
    if kind is bytes or kind is Status:
        return reply.decode()
    if kind is list:
        return [each.decode() if type(each) is bytes else decoded(each) for each in reply]
    if kind is dict:
        return {k.decode(): each.decode() if type(each) is bytes else decoded(each) for k, each in reply.items()}
    if kind is Scored:
        return [[member.decode(), score] for member, score in reply]
    return raised(reply) if kind is ReplyError else reply
