"""Commands for sorted sets and streams: those that the fleet and its tests give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.simulator.quick_commands import options_of, within, wrong_count
from tests.simulator.quick_keyspace import Keyspace, command
from tests.simulator.quick_values import (
    LARGEST,
    SYNTAX,
    Id,
    ReplyError,
    Scored,
    SortedSet,
    Stream,
    Unsupported,
    entry_id,
    id_bound,
    integer,
    name_bound,
    number,
    score_bound,
)

Pairs = list[tuple[float, bytes]]
Options = Mapping[bytes, tuple[int, ...]]

_BLOCK = 100
_RANGE_OPTIONS = ((b"BYSCORE", 0), (b"BYLEX", 0), (b"REV", 0), (b"WITHSCORES", 0), (b"LIMIT", 2))
_ZADD_OPTIONS = {b"NX", b"GT", b"LT", b"CH", b"INCR"}


# Sorted sets.
@command("ZADD")
def zadd(keys: Keyspace, key: bytes, *arguments: bytes) -> int:
    """With XX, or with no option."""
    only_old = arguments[:1] == (b"XX",)
    pairs = arguments[only_old:]
    if pairs and pairs[0].upper() in _ZADD_OPTIONS:
        raise Unsupported(f"ZADD {arguments}")
    if not pairs or len(pairs) % 2:
        raise ReplyError(SYNTAX)
    scores = [number(each) for each in pairs[::2]]
    found = keys.value(key, SortedSet) if only_old else keys.value_or_new(key, SortedSet)
    if found is None:
        return 0
    members = zip(pairs[1::2], scores, strict=True)
    return sum(found.put(member, score) for member, score in members if not only_old or member in found.scores)


@command("ZREM")
def zrem(keys: Keyspace, key: bytes, *members: bytes) -> int:
    if not members:
        raise wrong_count("zrem")
    found = keys.value(key, SortedSet)
    if found is None:
        return 0
    gone = sum(found.remove(member) for member in members)
    keys.drop_if_empty(key, found)
    return gone


@command("ZREMRANGEBYSCORE")
def zremrangebyscore(keys: Keyspace, key: bytes, low: bytes, high: bytes) -> int:
    members = [member for _, member in _by_score(keys, key, low, high)]
    return zrem(keys, key, *members) if members else 0


@command("ZCARD")
def zcard(keys: Keyspace, key: bytes) -> int:
    return len(keys.value(key, SortedSet) or ())


@command("ZSCORE")
def zscore(keys: Keyspace, key: bytes, member: bytes) -> float | None:
    found = keys.value(key, SortedSet)
    return found.scores.get(member) if found else None


@command("ZRANGE")
def zrange(keys: Keyspace, key: bytes, first: bytes, last: bytes, *options: bytes) -> list[Any]:
    given = options_of(options, *_RANGE_OPTIONS)
    by_score, by_name, backwards = b"BYSCORE" in given, b"BYLEX" in given, b"REV" in given
    by_position = not by_score and not by_name
    if (by_score and by_name) or (by_name and b"WITHSCORES" in given) or (by_position and b"LIMIT" in given):
        raise ReplyError(SYNTAX)
    if by_position:
        return _shown(_positions(keys, key, first, last, backwards), given)
    low, high = (last, first) if backwards else (first, last)
    chosen = _by_score(keys, key, low, high) if by_score else _by_name(keys, key, low, high)
    return _shown(_limited(chosen[::-1] if backwards else chosen, *given.get(b"LIMIT", ())), given)


def _by_score(keys: Keyspace, key: bytes, low: bytes, high: bytes) -> Pairs:
    least, most = score_bound(low), score_bound(high)
    found = keys.value(key, SortedSet)
    return found.between(least, most) if found else []


def _by_name(keys: Keyspace, key: bytes, low: bytes, high: bytes) -> Pairs:
    least, most = name_bound(low, low=True), name_bound(high, low=False)
    found = keys.value(key, SortedSet)
    return found.between_names(least, most) if found else []


@command("ZREVRANGE")
def zrevrange(keys: Keyspace, key: bytes, first: bytes, last: bytes, *options: bytes) -> list[Any]:
    given = options_of(options, (b"WITHSCORES", 0))
    return _shown(_positions(keys, key, first, last, backwards=True), given)


def _positions(keys: Keyspace, key: bytes, first: bytes, last: bytes, backwards: bool) -> Pairs:
    start, end = integer(first), integer(last)
    found = keys.value(key, SortedSet)
    ordered = found.ordered if found else []
    return (ordered[::-1] if backwards else ordered)[slice(*within(start, end, len(ordered)))]


def _limited(found: Pairs, offset: int = 0, count: int = -1) -> Pairs:
    if offset < 0:
        return []
    return found[offset:] if count < 0 else found[offset : offset + count]


def _shown(found: Pairs, given: Options) -> list[Any]:
    if b"WITHSCORES" in given:
        return Scored((member, score) for score, member in found)
    return [member for _, member in found]


# Streams.
@command("XADD")
def xadd(keys: Keyspace, key: bytes, *arguments: bytes) -> bytes:
    """With an id of the server's; MAXLEN with ``~`` lets go of whole hundreds only."""
    at, most, exact = 0, None, True
    if arguments[0].upper() == b"MAXLEN":
        how = arguments[1]
        exact, at = how != b"~", 3 if how in {b"=", b"~"} else 2
        most = integer(arguments[at - 1])
        if most < 0:
            raise ReplyError("ERR The MAXLEN argument must be >= 0.")
    if arguments[at] != b"*":
        raise Unsupported(f"XADD {arguments[: at + 1]}")
    fields = list(arguments[at + 1 :])
    if not fields or len(fields) % 2:
        raise wrong_count("xadd")
    stream = keys.value_or_new(key, Stream)
    name = stream.add(keys.now_ms, fields)
    if most is not None and len(stream) > most:
        over = len(stream) - most
        stream.drop_oldest(over if exact else over // _BLOCK * _BLOCK)
    return name


@command("XDEL")
def xdel(keys: Keyspace, key: bytes, *names: bytes) -> int:
    if not names:
        raise wrong_count("xdel")
    stream = keys.value(key, Stream) or Stream()
    for name in names:
        entry_id(name)
    return sum(stream.remove(name) for name in names)


@command("XLEN")
def xlen(keys: Keyspace, key: bytes) -> int:
    return len(keys.value(key, Stream) or ())


@command("XRANGE")
def xrange(keys: Keyspace, key: bytes, low: bytes, high: bytes, *options: bytes) -> list[Any]:
    stream, ids = _entries(keys, key, low, high)
    return stream.told(_first(ids, options))


@command("XREVRANGE")
def xrevrange(keys: Keyspace, key: bytes, high: bytes, low: bytes, *options: bytes) -> list[Any]:
    stream, ids = _entries(keys, key, low, high)
    return stream.told(_first(ids[::-1], options))


def _entries(keys: Keyspace, key: bytes, low: bytes, high: bytes) -> tuple[Stream, list[Id]]:
    least, most = id_bound(low), id_bound(high, LARGEST)
    stream = keys.value(key, Stream) or Stream()
    return stream, stream.between(least, most)


def _first(ids: list[Id], options: tuple[bytes, ...]) -> list[Id]:
    given = options_of(options, (b"COUNT", 1))
    return ids[: max(given[b"COUNT"][0], 0)] if given else ids


@command("XREAD")
def xread(keys: Keyspace, *arguments: bytes) -> dict[bytes, Any]:
    """Never waits: what BLOCK would have waited for is not there."""
    words = [each.upper() for each in arguments]
    if b"STREAMS" not in words:
        raise ReplyError(SYNTAX)
    at = words.index(b"STREAMS")
    given = options_of(arguments[:at], (b"COUNT", 1), (b"BLOCK", 1))
    names = arguments[at + 1 :]
    if not names or len(names) % 2:
        raise ReplyError(SYNTAX)
    half, count = len(names) // 2, given.get(b"COUNT", (0,))[0]
    found = {}
    for key, after in zip(names[:half], names[half:], strict=True):
        stream = keys.value(key, Stream) or Stream()
        seen = stream.last_id if after == b"$" else entry_id(after)
        ids = stream.between((seen, True), id_bound(b"+"))
        if ids:
            found[key] = stream.told(ids[:count] if count > 0 else ids)
    return found
