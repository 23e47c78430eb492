"""Commands drawn at random for whoever compares two servers, and what is compared of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection
from typing import Any

from redis.client import NEVER_DECODE

from tests.conftest import FAKE_START_MS

KEYS = [f"k{n}" for n in range(7)]
NAMES = ["a", "b", "b2", "c", "Zürich", ""]
SCORES = ["0", "-0", "1", "1", "2.5", "1767225600123", "inf", "-inf", "no number"]
BOUNDS = ["-inf", "+inf", "0", "(1", "1", "(2.5", "1767225600123", "x"]
WORDS = ["-", "+", "[a", "(b", "[b", "[c", "plain"]
NUMBERS = ["-3", "-1", "0", "1", "2", "5", "x", "01"]
IDS = ["-", "+", "0", "0-0", f"{FAKE_START_MS}", f"({FAKE_START_MS}-0", f"{FAKE_START_MS + 250}-1", "bad"]
# Eighths of a second: fakeredis counts in floating-point seconds, and these it adds up exactly.
STEP_MS = 125

WRONG_TYPE = "ResponseError", "WRONGTYPE"

EQUAL = dict.fromkeys([*NAMES, "d", "bb"], 5)
"""A sorted set whose scores are all the same, for ranges of names: Redis promises nothing for those of any other."""

Draw = Callable[[random.Random], list[Any]]


def some(rng: random.Random, values: list[str], most: int = 3) -> list[str]:
    return rng.choices(values, k=rng.randint(1, most))


def pairs(rng: random.Random, left: list[str], right: list[str]) -> list[str]:
    return [part for _ in range(rng.randint(1, 3)) for part in (rng.choice(left), rng.choice(right))]


def limit(rng: random.Random) -> list[str]:
    return ["LIMIT", rng.choice(["-1", "0", "1"]), rng.choice(["-1", "0", "1", "2"])] if rng.random() < 0.5 else []


def perhaps(rng: random.Random, *words: str) -> list[str]:
    return [word for word in words if rng.random() < 0.3]


def ttl(rng: random.Random) -> str:
    return str(STEP_MS * rng.randint(1, 4))


DRAWS: dict[str, Draw] = {
    "DEL": lambda rng: some(rng, KEYS),
    "EXISTS": lambda rng: some(rng, KEYS),
    "TYPE": lambda rng: [rng.choice(KEYS)],
    "PEXPIRE": lambda rng: [rng.choice(KEYS), rng.choice([ttl(rng), "x"])],
    "EXPIRE": lambda rng: [rng.choice(KEYS), rng.choice(["-1", "1", "x"])],
    "PERSIST": lambda rng: [rng.choice(KEYS)],
    "PTTL": lambda rng: [rng.choice(KEYS)],
    "TIME": lambda rng: [],
    "GET": lambda rng: [rng.choice(KEYS)],
    "MGET": lambda rng: some(rng, KEYS),
    "SET": lambda rng: [
        rng.choice(KEYS), rng.choice(NUMBERS), *perhaps(rng, "NX"), *rng.choice([[], ["PX", ttl(rng)], ["PX", "0"]]),
    ],
    "INCR": lambda rng: [rng.choice(KEYS)],
    "HSET": lambda rng: [rng.choice(KEYS), *pairs(rng, NAMES, NUMBERS)],
    "HSETNX": lambda rng: [rng.choice(KEYS), rng.choice(NAMES), rng.choice(NUMBERS)],
    "HGET": lambda rng: [rng.choice(KEYS), rng.choice(NAMES)],
    "HMGET": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "HGETALL": lambda rng: [rng.choice(KEYS)],
    "HDEL": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "HINCRBY": lambda rng: [rng.choice(KEYS), rng.choice(NAMES), rng.choice(NUMBERS[:6])],
    "RPUSH": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "LPUSH": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "LPOP": lambda rng: [rng.choice(KEYS)],
    "LMOVE": lambda rng: [rng.choice(KEYS), rng.choice(KEYS), "LEFT", "RIGHT"],
    "LINDEX": lambda rng: [rng.choice(KEYS), rng.choice(NUMBERS[:6])],
    "LLEN": lambda rng: [rng.choice(KEYS)],
    "LPOS": lambda rng: [rng.choice(KEYS), rng.choice(NAMES)],
    "LRANGE": lambda rng: [rng.choice(KEYS), rng.choice(NUMBERS), rng.choice(NUMBERS)],
    "LREM": lambda rng: [rng.choice(KEYS), rng.choice(NUMBERS), rng.choice(NAMES)],
    "SADD": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "SREM": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "SMEMBERS": lambda rng: [rng.choice(KEYS)],
    "PUBLISH": lambda rng: ["nobody", "listens"],
    "ZADD": lambda rng: [rng.choice(KEYS), *perhaps(rng, "XX"), *pairs(rng, SCORES, NAMES)],
    "ZREM": lambda rng: [rng.choice(KEYS), *some(rng, NAMES)],
    "ZREMRANGEBYSCORE": lambda rng: [rng.choice(KEYS), rng.choice(BOUNDS), rng.choice(BOUNDS)],
    "ZCARD": lambda rng: [rng.choice(KEYS)],
    "ZSCORE": lambda rng: [rng.choice(KEYS), rng.choice(NAMES)],
    "ZREVRANGE": lambda rng: [rng.choice(KEYS), rng.choice(NUMBERS[:6]), rng.choice(NUMBERS[:6])],
    "ZRANGE": lambda rng: rng.choice([by_position, by_score, by_name])(rng),
    "XADD": lambda rng: [
        rng.choice(KEYS), *rng.choice([[], ["MAXLEN", "3"], ["MAXLEN", "=", "2"], ["MAXLEN", "~", "90"]]), "*",
        *pairs(rng, NAMES, NUMBERS),
    ],
    "XDEL": lambda rng: [rng.choice(KEYS), *some(rng, IDS[2:5] + IDS[6:])],
    "XLEN": lambda rng: [rng.choice(KEYS)],
    "XRANGE": lambda rng: [rng.choice(KEYS), rng.choice(IDS), rng.choice(IDS), *rng.choice([[], ["COUNT", "2"]])],
    "XREVRANGE": lambda rng: [rng.choice(KEYS), rng.choice(IDS), rng.choice(IDS), *rng.choice([[], ["COUNT", "1"]])],
    "XREAD": lambda rng: ["COUNT", "2", "STREAMS", *rng.sample(KEYS, 2), *some(rng, [*IDS[2:5], "$"], 1) * 2],
}  # fmt: skip


def drawn(rng: random.Random, names: Collection[str]) -> list[Any]:
    """One command, of these."""
    name = rng.choice(sorted(names))
    return [name, *DRAWS[name](rng)]


def by_position(rng: random.Random) -> list[Any]:
    return [rng.choice(KEYS), rng.choice(NUMBERS[:6]), rng.choice(NUMBERS[:6]), *perhaps(rng, "REV", "WITHSCORES")]


def by_score(rng: random.Random) -> list[Any]:
    options = ["BYSCORE", *perhaps(rng, "REV", "WITHSCORES"), *limit(rng)]
    return [rng.choice(KEYS), rng.choice(BOUNDS), rng.choice(BOUNDS), *options]


def by_name(rng: random.Random) -> list[Any]:
    return ["equal", rng.choice(WORDS), rng.choice(WORDS), "BYLEX", *perhaps(rng, "REV"), *limit(rng)]


def outcome(deed: Callable[[], Any]) -> Any:
    """The reply, or which error it was, by its class and first word."""
    try:
        return deed()
    except Exception as error:  # noqa: BLE001 - compared with what the other one raised
        return type(error).__name__, str(error).partition(" ")[0]


def key_space(client: Any) -> dict[str, Any]:
    """Every key with its kind, its time to live and its value, streams and JSON included."""
    readers: dict[str, Callable[[str], Any]] = {
        "string": client.get,
        "hash": lambda key: [(name, _readable(value)) for name, value in client.hgetall(key).items()],
        "list": lambda key: client.lrange(key, 0, -1),
        "set": client.smembers,
        "zset": lambda key: client.zrange(key, 0, -1, withscores=True),
        "stream": client.xrange,
        "job": lambda key: client.execute_command("HMGET", key, "data", "meta", **{NEVER_DECODE: []}),
    }
    found = {}
    for key in sorted(client.scan_iter()):
        kind = client.type(key)
        reader = readers["job" if key.startswith("rq:job:") else kind]
        found[key] = kind, client.pttl(key), reader(key)
    return found


def _readable(text: str) -> Any:
    """JSON is compared by what it says: an empty table is an array to fakeredis, and an object to Redis."""
    if not text.startswith("{"):
        return text
    return json.loads(text.replace("[]", "{}"))
