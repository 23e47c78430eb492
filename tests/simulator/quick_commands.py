"""Commands for keys, strings, hashes, lists, sets and channels: those that the fleet and its tests give.

Replies are Redis's newer shapes (a hash is a dictionary), for whoever asked to bring into the older ones. What a
reply holds may be the keyspace's own: it is read at once, and changed by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from tests.simulator.quick_keyspace import Keyspace, command
from tests.simulator.quick_values import (
    SYNTAX,
    Item,
    Members,
    ReplyError,
    SortedSet,
    Status,
    Stream,
    Unsupported,
    integer,
)

OK = Status(b"OK")
_NOTHING = object()
_KINDS = {bytes: b"string", dict: b"hash", list: b"list", Members: b"set", SortedSet: b"zset", Stream: b"stream"}


def wrong_count(name: str) -> ReplyError:
    return ReplyError(f"ERR wrong number of arguments for '{name}' command")


# Keys.
@command("DEL")
def delete(keys: Keyspace, *names: bytes) -> int:
    return sum(keys.find(name) is not None and keys.items.pop(name) is not None for name in names)


@command("EXISTS")
def exists(keys: Keyspace, *names: bytes) -> int:
    return sum(keys.find(name) is not None for name in names)


@command("TYPE")
def kind_of(keys: Keyspace, key: bytes) -> Status:
    item = keys.find(key)
    return Status(_KINDS[type(item.value)] if item else b"none")


@command("PEXPIRE")
def pexpire(keys: Keyspace, key: bytes, ms: bytes) -> int:
    ttl_ms = integer(ms)
    item = keys.find(key)
    if item is None:
        return 0
    if ttl_ms <= 0:
        del keys.items[key]
    else:
        item.expires_ms = keys.now_ms + ttl_ms
    return 1


@command("EXPIRE")
def expire(keys: Keyspace, key: bytes, seconds: bytes) -> int:
    done: int = pexpire(keys, key, b"%d" % (integer(seconds) * 1000))
    return done


@command("PERSIST")
def persist(keys: Keyspace, key: bytes) -> int:
    item = keys.find(key)
    if item is None or item.expires_ms is None:
        return 0
    item.expires_ms = None
    return 1


@command("PTTL")
def pttl(keys: Keyspace, key: bytes) -> int:
    item = keys.find(key)
    if item is None:
        return -2
    return -1 if item.expires_ms is None else item.expires_ms - keys.now_ms


@command("SCAN")
def scan(keys: Keyspace, _cursor: bytes, *options: bytes) -> list[Any]:
    """All keys at once, which Redis may do as well."""
    given = dict(zip((each.upper() for each in options[::2]), options[1::2], strict=True))
    pattern, kind = given.pop(b"MATCH", b"*").decode(), given.pop(b"TYPE", None)
    given.pop(b"COUNT", None)
    if given or any(each in pattern for each in "[]\\"):
        raise Unsupported(f"SCAN {options}")
    found = [key for key in keys.there() if fnmatchcase(key.decode("latin-1"), pattern)]
    return [b"0", [key for key in found if kind is None or kind_of(keys, key) == kind]]


@command("FLUSHALL")
def flushall(keys: Keyspace) -> Status:
    keys.items.clear()
    return OK


@command("TIME")
def time(keys: Keyspace) -> list[bytes]:
    return [b"%d" % part for part in divmod(keys.now_us, 1_000_000)]


# Strings.
@command("GET")
def get(keys: Keyspace, key: bytes) -> bytes | None:
    return keys.value(key, bytes)


@command("MGET")
def mget(keys: Keyspace, *names: bytes) -> list[bytes | None]:
    found = [keys.find(name) for name in names]
    return [each.value if each and type(each.value) is bytes else None for each in found]


@command("SET")
def set_to(keys: Keyspace, key: bytes, value: bytes, *options: bytes) -> Status | None:
    """With NX and PX; another value forgets the time to live."""
    only_new, ttl_ms, left = False, 0, list(options)
    while left:
        option = left.pop(0).upper()
        if option == b"NX":
            only_new = True
        elif option == b"PX" and left:
            ttl_ms = integer(left.pop(0))
            if ttl_ms <= 0:
                raise ReplyError("ERR invalid expire time in 'set' command")
        else:
            raise Unsupported(f"SET {options}")
    if only_new and keys.find(key):
        return None
    item = keys.items[key] = Item(value)
    if ttl_ms:
        item.expires_ms = keys.now_ms + ttl_ms
    return OK


@command("INCR")
def incr(keys: Keyspace, key: bytes) -> int:
    value = integer(keys.value(key, bytes) or b"0") + 1
    if value >= 2**63:
        raise ReplyError("ERR increment or decrement would overflow")
    item = keys.items.setdefault(key, Item(b""))
    item.value = b"%d" % value
    return value


# Hashes.
@command("HSET")
def hset(keys: Keyspace, key: bytes, *pairs: bytes) -> int:
    if not pairs or len(pairs) % 2:
        raise wrong_count("hset")
    found: dict[bytes, bytes] = keys.value_or_new(key, dict)
    before = len(found)
    found.update(zip(pairs[::2], pairs[1::2], strict=True))
    return len(found) - before


@command("HSETNX")
def hsetnx(keys: Keyspace, key: bytes, field: bytes, value: bytes) -> int:
    found = keys.value(key, dict)
    return 0 if found and field in found else hset(keys, key, field, value)


@command("HGET")
def hget(keys: Keyspace, key: bytes, field: bytes) -> bytes | None:
    found = keys.value(key, dict)
    return found.get(field) if found else None


@command("HMGET")
def hmget(keys: Keyspace, key: bytes, *fields: bytes) -> list[bytes | None]:
    if not fields:
        raise wrong_count("hmget")
    found = keys.value(key, dict) or {}
    return [found.get(field) for field in fields]


@command("HGETALL")
def hgetall(keys: Keyspace, key: bytes) -> dict[bytes, bytes]:
    return keys.value(key, dict) or {}


@command("HDEL")
def hdel(keys: Keyspace, key: bytes, *fields: bytes) -> int:
    found = keys.value(key, dict)
    if not fields:
        raise wrong_count("hdel")
    if not found:
        return 0
    gone = sum(found.pop(field, None) is not None for field in fields)
    keys.drop_if_empty(key, found)
    return gone


@command("HINCRBY")
def hincrby(keys: Keyspace, key: bytes, field: bytes, by: bytes) -> int:
    step, found = integer(by), keys.value(key, dict) or {}
    value = integer(found.get(field, b"0"), "ERR hash value is not an integer") + step
    if not -(2**63) <= value < 2**63:
        raise ReplyError("ERR increment or decrement would overflow")
    hset(keys, key, field, b"%d" % value)
    return value


# Lists.
@command("RPUSH")
def rpush(keys: Keyspace, key: bytes, *values: bytes) -> int:
    if not values:
        raise wrong_count("rpush")
    found: list[bytes] = keys.value_or_new(key, list)
    found.extend(values)
    return len(found)


@command("LPUSH")
def lpush(keys: Keyspace, key: bytes, *values: bytes) -> int:
    if not values:
        raise wrong_count("lpush")
    found: list[bytes] = keys.value_or_new(key, list)
    found[:0] = reversed(values)
    return len(found)


@command("LPOP")
def lpop(keys: Keyspace, key: bytes) -> bytes | None:
    found = keys.value(key, list)
    if not found:
        return None
    first: bytes = found.pop(0)
    keys.drop_if_empty(key, found)
    return first


@command("LMOVE")
def lmove(keys: Keyspace, source: bytes, target: bytes, end: bytes, side: bytes) -> bytes | None:
    """From the head of one list to the tail of another, as RQ asks for it."""
    if (end.upper(), side.upper()) != (b"LEFT", b"RIGHT"):
        raise Unsupported(f"LMOVE {end!r} {side!r}")
    found = keys.value(source, list)
    if not found:
        return None
    first: bytes = found[0]
    rpush(keys, target, first)  # before the other is gone: they may be the same
    lpop(keys, source)
    return first


@command("LINDEX")
def lindex(keys: Keyspace, key: bytes, place: bytes) -> bytes | None:
    found = keys.value(key, list)
    if not found:
        return None
    at = integer(place)
    return found[at] if -len(found) <= at < len(found) else None


@command("LLEN")
def llen(keys: Keyspace, key: bytes) -> int:
    return len(keys.value(key, list) or ())


@command("LPOS")
def lpos(keys: Keyspace, key: bytes, value: bytes) -> int | None:
    found = keys.value(key, list) or []
    return found.index(value) if value in found else None


@command("LRANGE")
def lrange(keys: Keyspace, key: bytes, first: bytes, last: bytes) -> list[bytes]:
    start, end = integer(first), integer(last)
    found = keys.value(key, list) or []
    return found[slice(*within(start, end, len(found)))]


@command("LREM")
def lrem(keys: Keyspace, key: bytes, count: bytes, value: bytes) -> int:
    how_many = integer(count)
    found = keys.value(key, list) or []
    places = [at for at, each in enumerate(found) if each == value]
    places = places[:how_many] if how_many > 0 else places[how_many:] if how_many < 0 else places
    for at in reversed(places):
        del found[at]
    if places:
        keys.drop_if_empty(key, found)
    return len(places)


def within(first: int, last: int, length: int) -> tuple[int, int]:
    """The slice that two positions mean, counted from the end where they are negative."""
    start, end = max(first + length, 0) if first < 0 else first, last + length if last < 0 else last
    return (start, end + 1) if start <= end else (0, 0)


# Sets and channels.
@command("SADD")
def sadd(keys: Keyspace, key: bytes, *members: bytes) -> int:
    if not members:
        raise wrong_count("sadd")
    found = keys.value_or_new(key, Members)
    before = len(found)
    found.update(dict.fromkeys(members))
    return len(found) - before


@command("SREM")
def srem(keys: Keyspace, key: bytes, *members: bytes) -> int:
    found = keys.value(key, Members)
    if not members:
        raise wrong_count("srem")
    if not found:
        return 0
    gone = sum(found.pop(member, _NOTHING) is not _NOTHING for member in members)
    keys.drop_if_empty(key, found)
    return gone


@command("SMEMBERS")
def smembers(keys: Keyspace, key: bytes) -> list[bytes]:
    return list(keys.value(key, Members) or ())


@command("PUBLISH")
def publish(keys: Keyspace, channel: bytes, _message: bytes) -> int:
    heard = keys.listeners.get(channel, [])
    for listener in heard:
        listener()
    return len(heard)


@lru_cache(maxsize=4096)
def options_of(options: tuple[bytes, ...], *known: tuple[bytes, int]) -> Mapping[bytes, tuple[int, ...]]:
    """Which options were given, and the integers after each; ``known``: the names, and how many integers follow."""
    counts, found, at = dict(known), {}, 0
    while at < len(options):
        name = options[at].upper()
        count = counts.get(name)
        if count is None or at + count >= len(options):
            raise ReplyError(SYNTAX)
        found[name] = tuple(integer(each) for each in options[at + 1 : at + 1 + count])
        at += 1 + count
    return found
