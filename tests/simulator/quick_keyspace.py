"""The keys of the quick server: found by name and kind, and gone once their time is over.

A key is there up to and including its last millisecond, as in Redis. Time is whole milliseconds: what `time.time`
says, and only when `look_at_the_clock` is called, so that a script sees one instant.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tests.simulator.quick_values import WRONG_TYPE, Item, ReplyError

Kind = TypeVar("Kind")
Command = Callable[..., Any]

COMMANDS: dict[bytes, Command] = {}
"""Every command that clients and scripts can give, by its name: called with the keyspace and the arguments as bytes."""


def command(name: str) -> Callable[[Command], Command]:
    """Make a function the one that carries out the command of this name."""

    def add(function: Command) -> Command:
        COMMANDS[name.encode()] = function
        return function

    return add


class Keyspace:
    """All keys of one server, and who listens to its channels."""

    def __init__(self) -> None:
        self.items: dict[bytes, Item] = {}
        self.listeners: dict[bytes, list[Callable[[], None]]] = {}
        self.now_us = self.now_ms = 0

    def look_at_the_clock(self) -> None:
        self.now_us = round(time.time() * 1_000_000)
        self.now_ms = self.now_us // 1000

    def find(self, key: bytes) -> Item | None:
        item = self.items.get(key)
        if item is not None and item.expires_ms is not None and self.now_ms > item.expires_ms:
            del self.items[key]
            return None
        return item

    def value(self, key: bytes, kind: type[Kind]) -> Kind | None:
        """What the key holds; None when it is not there. Refuses a value of another kind."""
        item = self.find(key)
        if item is None:
            return None
        if type(item.value) is not kind:
            raise ReplyError(WRONG_TYPE)
        return item.value

    def value_or_new(self, key: bytes, kind: type[Kind]) -> Kind:
        """The same, and the key is made where it is not there."""
        found = self.value(key, kind)
        if found is None:
            found = kind()
            self.items[key] = Item(found)
        return found

    def drop_if_empty(self, key: bytes, value: list[Any] | dict[Any, Any] | Any) -> None:
        if not len(value):
            del self.items[key]

    def there(self) -> list[bytes]:
        """The names of all keys, in order."""
        return sorted(key for key in list(self.items) if self.find(key) is not None)
