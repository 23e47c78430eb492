"""What a key of the quick server can hold, and how Redis reads numbers and bounds from what it is sent.

Everything is bytes, as it is in Redis: a string is `bytes`, a hash a `dict`, a list a `list`; the others are here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from operator import itemgetter
from typing import Any, TypeAlias

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
SYNTAX = "ERR syntax error"
NOT_AN_INTEGER = "ERR value is not an integer or out of range"
NOT_A_FLOAT = "ERR value is not a valid float"
NOT_A_BOUND = "ERR min or max is not a float"
NOT_AN_ID = "ERR Invalid stream ID specified as stream command argument"

Id: TypeAlias = tuple[int, int]
"""A stream's entry: its millisecond, and its number within that."""
IdBound: TypeAlias = tuple[Id, bool]
ScoreBound: TypeAlias = tuple[float, bool]
NameBound: TypeAlias = tuple[int, bytes, int]
LARGEST = 2**64 - 1

_ID = re.compile(rb"(\d+)(?:-(\d+))?", re.ASCII)
_by_score = itemgetter(0)


class ReplyError(Exception):
    """What Redis answers when it refuses a command, the error's code first."""


class Unsupported(AssertionError):
    """Nobody needed this yet. It is no error reply: nothing that talks to a store may take it for one."""


class Status(bytes):
    """A reply such as OK: text to a client, a table with the field ``ok`` to a script."""

    __slots__ = ()


class Scored(list[tuple[bytes, float]]):
    """Members with their scores: pairs to a client, a flat list of text to a script."""

    __slots__ = ()


class Members(dict[bytes, None]):
    """A set, in the order in which its members came."""

    __slots__ = ()


class SortedSet:
    """Members in the order of their scores, and in that of their bytes where the scores are equal."""

    __slots__ = ("ordered", "scores")

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self.ordered: list[tuple[float, bytes]] = []

    def __len__(self) -> int:
        return len(self.ordered)

    def put(self, member: bytes, score: float) -> bool:
        """Give the member this score; whether it is new."""
        before = self.scores.get(member)
        if before == score:
            return False
        if before is not None:
            self._take(before, member)
        self.scores[member] = score
        insort(self.ordered, (score, member))
        return before is None

    def remove(self, member: bytes) -> bool:
        score = self.scores.pop(member, None)
        if score is None:
            return False
        self._take(score, member)
        return True

    def _take(self, score: float, member: bytes) -> None:
        del self.ordered[bisect_left(self.ordered, (score, member))]

    def between(self, low: ScoreBound, high: ScoreBound) -> list[tuple[float, bytes]]:
        (least, above), (most, below) = low, high
        first = (bisect_right if above else bisect_left)(self.ordered, least, key=_by_score)
        end = (bisect_left if below else bisect_right)(self.ordered, most, key=_by_score)
        return self.ordered[first:end]

    def between_names(self, low: NameBound, high: NameBound) -> list[tuple[float, bytes]]:
        """Those whose bytes lie between the bounds; says something only where all scores are equal."""
        return [each for each in self.ordered if low <= (0, each[1], 0) <= high]


def score_bound(text: bytes) -> ScoreBound:
    """A number that may be open by a parenthesis, and whether it is."""
    is_open = text.startswith(b"(")
    return number(text[1:] if is_open else text, NOT_A_BOUND), is_open


def name_bound(text: bytes, *, low: bool) -> NameBound:
    """The end of a range of names, as what the names can be compared with."""
    if text in {b"-", b"+"}:
        return (-1 if text == b"-" else 1), b"", 0
    if text[:1] not in {b"[", b"("}:
        raise ReplyError("ERR min or max not valid string range item")
    return 0, text[1:], 0 if text.startswith(b"[") else 1 if low else -1


class Stream:
    """Entries in the order of their ids; ``last_id`` is the last that was given, also when its entry is gone."""

    __slots__ = ("entries", "ids", "last_id")

    def __init__(self) -> None:
        self.ids: list[Id] = []
        self.entries: dict[Id, list[bytes]] = {}
        self.last_id: Id = (0, 0)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, now_ms: int, fields: list[bytes]) -> bytes:
        last_ms, number_of = self.last_id
        self.last_id = (now_ms, 0) if now_ms > last_ms else (last_ms, number_of + 1)
        self.ids.append(self.last_id)
        self.entries[self.last_id] = fields
        return name_of(self.last_id)

    def drop_oldest(self, count: int) -> None:
        for each in self.ids[:count]:
            del self.entries[each]
        del self.ids[:count]

    def remove(self, name: bytes) -> bool:
        found = entry_id(name)
        if self.entries.pop(found, None) is None:
            return False
        del self.ids[bisect_left(self.ids, found)]
        return True

    def between(self, low: IdBound, high: IdBound) -> list[Id]:
        (least, above), (most, below) = low, high
        first = (bisect_right if above else bisect_left)(self.ids, least)
        end = (bisect_left if below else bisect_right)(self.ids, most)
        return self.ids[first:end]

    def told(self, ids: list[Id]) -> list[list[Any]]:
        """These entries as a reply: the id and the flat fields of each."""
        return [[name_of(each), self.entries[each]] for each in ids]


def name_of(entry: Id) -> bytes:
    return b"%d-%d" % entry


def entry_id(text: bytes, missing: int = 0) -> Id:
    """The id that the text names; ``missing``: its second number where it has only the first."""
    found = _ID.fullmatch(text)
    if not found:
        raise ReplyError(NOT_AN_ID)
    entry = int(found[1]), missing if found[2] is None else int(found[2])
    if max(entry) > LARGEST:
        raise ReplyError(NOT_AN_ID)
    return entry


def id_bound(text: bytes, missing: int = 0) -> IdBound:
    """An end of a range, and whether it is open."""
    if text in {b"-", b"+"}:
        return ((0, 0) if text == b"-" else (LARGEST, LARGEST)), False
    is_open = text.startswith(b"(")
    return entry_id(text[1:] if is_open else text, missing), is_open


class Item:
    """A key's value, and the instant after which it is gone."""

    __slots__ = ("expires_ms", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.expires_ms: int | None = None


def integer(text: bytes, otherwise: str = NOT_AN_INTEGER) -> int:
    """A number of 64 bits, written in the one way that Redis takes."""
    try:
        value = int(text)
    except ValueError:
        raise ReplyError(otherwise) from None
    if b"%d" % value != text or not -(2**63) <= value < 2**63:
        raise ReplyError(otherwise)
    return value


def number(text: bytes, otherwise: str = NOT_A_FLOAT) -> float:
    """A floating-point number, infinities included."""
    try:
        value = float(text)
    except ValueError:
        raise ReplyError(otherwise) from None
    if value != value or text[:1].isspace() or text[-1:].isspace() or b"_" in text:
        raise ReplyError(otherwise)
    return value


def number_text(value: float) -> bytes:
    """A number as Redis writes one that a script gave it, or a score for a script."""
    return f"{value:.17g}".encode()
