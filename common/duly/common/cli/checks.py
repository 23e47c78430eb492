"""What makes a Redis safe for leases, checked one by one. A check that may not look says `unknown`, never `ok`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import redis

from duly.common.clock import Clock, SystemClock, wall_ms
from duly.common.errors import StoreUnavailable
from duly.common.explain.text import duration
from duly.common.store import Store
from duly.common.store.connection import Client, translated
from duly.common.store.script_source import SHEBANG

OLDEST_REDIS = (7, 0)
OLDEST_VALKEY = (7, 2)
MAX_CLOCK_DIFFERENCE_MS = 1_000
SLOW_PING_MS = 100.0
_PINGS = 10
_NAMED = 10


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; ``advice`` is empty when there is nothing to do."""

    name: str
    status: Status
    detail: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _Server:
    """What the server says of itself; None where it may not be asked."""

    info: Mapping[str, Any] | None
    config: Mapping[str, str] | None


def examine(client: Client, clock: Clock | None = None) -> list[Check]:
    """All checks, in the order in which they are shown."""
    try:
        with translated():
            client.ping()
    except StoreUnavailable as error:
        return [Check("reachable", Status.FAIL, str(error), "nothing else could be checked")]
    server = _Server(_allowed(client.info), _allowed(lambda: client.config_get("appendfsync", "save", "min-repl*")))
    return [
        Check("reachable", Status.OK, "answers PING"),
        _latency(client, clock or SystemClock()),
        _clock(client),
        *_from_info(server),
        _scripts(client),
    ]


def examine_permissions(store: Store) -> Check:
    """Whether the user may make every call that the scripts make."""
    try:
        refused = store.permissions.refused()
    except StoreUnavailable:
        return Check("permissions", Status.UNKNOWN, "they could not be asked for", "see the check of scripts")
    if refused:
        advice = "allow these: a script that is refused one stops half-way, and state parts from its record"
        more = f" and {len(refused) - _NAMED} more" if len(refused) > _NAMED else ""
        return Check("permissions", Status.FAIL, f"not allowed: {', '.join(refused[:_NAMED])}{more}", advice)
    return Check("permissions", Status.OK, "every call that the scripts make")


def _allowed(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except redis.exceptions.RedisError:
        return None


def _latency(client: Client, clock: Clock) -> Check:
    def ping() -> float:
        started = clock.monotonic_ms()
        client.ping()
        return clock.monotonic_ms() - started

    times = _allowed(lambda: [ping() for _ in range(_PINGS)])
    if times is None:
        return Check("latency", Status.UNKNOWN, "PING failed meanwhile", "look at the network")
    detail = f"{statistics.median(times):.1f} ms median, {max(times):.1f} ms longest of {_PINGS}"
    if statistics.median(times) > SLOW_PING_MS:
        return Check("latency", Status.WARN, detail, "run workers nearer to Redis, or lengthen lease-ttl-ms")
    return Check("latency", Status.OK, detail)


def _clock(client: Client) -> Check:
    before_ms = wall_ms()
    answer = _allowed(client.time)
    after_ms = wall_ms()
    if answer is None:
        return Check("clock", Status.FAIL, "TIME is not allowed", "allow TIME: the store's clock decides what is due")
    store_ms = int(answer[0]) * 1000 + int(answer[1]) // 1000
    apart = max(before_ms - store_ms, store_ms - after_ms, 0)
    detail = f"{duration(apart)} apart from this machine's"
    if apart > MAX_CLOCK_DIFFERENCE_MS:
        return Check("clock", Status.WARN, detail, "only the store's clock counts; set one of them right")
    return Check("clock", Status.OK, detail)


def _from_info(server: _Server) -> Iterator[Check]:
    judges: dict[str, Callable[[Mapping[str, Any], Mapping[str, str] | None], Check]] = {
        "version": _version,
        "role": _role,
        "cluster": _cluster,
        "eviction": _eviction,
        "persistence": _persistence,
        "fsync": _fsync,
        "replicas": _replicas,
    }
    for name, judge in judges.items():
        if server.info is None:
            yield _unknown(name, "INFO")
        else:
            yield judge(server.info, server.config)


def _unknown(name: str, command: str) -> Check:
    return Check(name, Status.UNKNOWN, f"{command} is not allowed here", f"ask whoever runs Redis, or allow {command}")


def _version(info: Mapping[str, Any], _: Mapping[str, str] | None) -> Check:
    valkey = "valkey_version" in info or info.get("server_name") == "valkey"
    text = str(info.get("valkey_version" if valkey else "redis_version", ""))
    product, oldest = ("Valkey", OLDEST_VALKEY) if valkey else ("Redis", OLDEST_REDIS)
    numbers = tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
    if len(numbers) < 2:
        return Check("version", Status.UNKNOWN, f"{product} of an unknown version")
    if numbers < oldest:
        return Check("version", Status.FAIL, f"{product} {text}", "upgrade: Redis >= 7.0 or Valkey >= 7.2")
    return Check("version", Status.OK, f"{product} {text}")


def _role(info: Mapping[str, Any], _: Mapping[str, str] | None) -> Check:
    role = info.get("role")
    if role is None:
        return _unknown("role", "INFO replication")
    if role != "master":
        return Check("role", Status.FAIL, f"this is a {role}", "point --redis-url at the primary")
    return Check("role", Status.OK, "primary")


def _cluster(info: Mapping[str, Any], _: Mapping[str, str] | None) -> Check:
    enabled = info.get("cluster_enabled")
    if enabled is None:
        return _unknown("cluster", "INFO cluster")
    if int(enabled):
        return Check("cluster", Status.FAIL, "cluster mode is on", "use a Redis without cluster mode; RQ needs one too")
    return Check("cluster", Status.OK, "off")


def _eviction(info: Mapping[str, Any], _: Mapping[str, str] | None) -> Check:
    policy = info.get("maxmemory_policy")
    if policy is None:
        return _unknown("eviction", "INFO memory")
    if policy != "noeviction":
        advice = "set maxmemory-policy noeviction: an evicted lease lets two workers run"
        return Check("eviction", Status.FAIL, str(policy), advice)
    return Check("eviction", Status.OK, "noeviction")


def _persistence(info: Mapping[str, Any], config: Mapping[str, str] | None) -> Check:
    appending = info.get("aof_enabled")
    if appending is None:
        return _unknown("persistence", "INFO persistence")
    if int(appending):
        return Check("persistence", Status.OK, "append-only file")
    snapshots = "no append-only file" if config is None else "snapshots only" if config.get("save") else "nothing"
    advice = "set appendonly yes: a restart forgets leases, holds and runs"
    return Check("persistence", Status.WARN, snapshots, advice)


def _fsync(info: Mapping[str, Any], config: Mapping[str, str] | None) -> Check:
    if config is None or "appendfsync" not in config:
        return _unknown("fsync", "CONFIG GET")
    policy = config["appendfsync"]
    if not int(info.get("aof_enabled", 0)):
        return Check("fsync", Status.WARN, "nothing to sync", "set appendonly yes first")
    if policy == "always":
        return Check("fsync", Status.OK, "at every write")
    lost = "the last second" if policy == "everysec" else "the last half minute"
    return Check("fsync", Status.WARN, policy, f"a crash can forget {lost}; set appendfsync always")


def _replicas(info: Mapping[str, Any], config: Mapping[str, str] | None) -> Check:
    replicas = int(info.get("connected_slaves", 0))
    if replicas == 0:
        return Check("replicas", Status.OK, "none connected: no failover can forget a lease")
    if config is None or "min-replicas-to-write" not in config:
        return _unknown("replicas", "CONFIG GET")
    needed = int(config["min-replicas-to-write"])
    if needed == 0:
        return Check("replicas", Status.WARN, f"{replicas} connected", "set min-replicas-to-write 1: limits the loss")
    return Check("replicas", Status.OK, f"{replicas} connected, {needed} needed to write")


def _scripts(client: Client) -> Check:
    try:
        answer = client.eval(f"{SHEBANG}return 'ran'", 0)
    except redis.exceptions.RedisError:
        return Check("scripts", Status.FAIL, "a script was refused", "allow EVAL and EVALSHA, on a primary")
    if answer not in {"ran", b"ran"}:
        return Check("scripts", Status.FAIL, "a script gave a wrong answer", "is this a Redis or Valkey?")
    return Check("scripts", Status.OK, "run, with flags")
