"""Messages between a worker and its work-horse: JSON objects on a stream socket, each behind its length.

Whoever reads trusts nothing: a message that is cut off, too long, or no JSON object ends the channel, and with it the
work-horse.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

MOST_BYTES = 1 << 20
"""A schedule's arguments take 64 KiB at most; nothing else is longer."""
_LENGTH = struct.Struct(">I")
_Message = dict[str, Any]


class ChannelBroken(Exception):
    """The other side is gone, or says what nobody says here."""


class Channel:
    """One end. Not for two readers, nor two writers, at a time."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._read = bytearray()

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Both ends."""
        one, other = socket.socketpair()
        return cls(one), cls(other)

    def fileno(self) -> int:
        return self._end.fileno()

    @property
    def has_read_ahead(self) -> bool:
        """Whether part of the next message is here already, so that nothing need be readable for it."""
        return bool(self._read)

    def close(self) -> None:
        self._end.close()

    def send(self, message: _Message) -> None:
        """Send one message; raises ChannelBroken."""
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > MOST_BYTES:
            raise ChannelBroken("a message to send is too long")
        try:
            self._end.sendall(_LENGTH.pack(len(body)) + body)
        except OSError as error:
            raise ChannelBroken("nobody is there to read") from error

    def receive(self) -> _Message:
        """Wait for the next message; raises ChannelBroken."""
        body = self._take(*_LENGTH.unpack(self._take(_LENGTH.size)))
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ChannelBroken("a message is no JSON") from error
        if not isinstance(message, dict):
            raise ChannelBroken("a message is no JSON object")
        return message

    def _take(self, size: int) -> bytes:
        if size > MOST_BYTES:
            raise ChannelBroken("a message is too long")
        while len(self._read) < size:
            try:
                more = self._end.recv(65_536)
            except OSError as error:
                raise ChannelBroken("nothing can be read any more") from error
            if not more:
                raise ChannelBroken("the other side has closed")
            self._read += more
        taken = bytes(self._read[:size])
        del self._read[:size]
        return taken
