"""Connections to Redis: one way to open them, one way to say that Redis cannot serve."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from duly.common.errors import InvalidField, StoreRefused, StoreUnavailable

SOCKET_TIMEOUT_S = 5.0
TEXT_ERRORS = "surrogateescape"
NO_ANSWER = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)
"""What redis-py raises where the server cannot be reached, or says nothing."""
# redis-py's annotations describe decoding and not decoding, waiting and not waiting, all at once; what this
# client gives is known from how `connect` opens it: decoded text.
Client: TypeAlias = Any
_DATABASE = re.compile(r"/?|/\d+", re.ASCII)
_SCHEMES = ("redis://", "rediss://", "unix://")


def connect(url: str, *, decode: bool = True, socket_timeout_s: float = SOCKET_TIMEOUT_S) -> redis.Redis:
    """A client for the fleet; connects at its first command. Raises InvalidField for an unusable URL.

    Retries are off: redis-py sends a command again when only its reply was lost, and would answer from the
    second execution. Every transition is instead safe to ask again with the same token.
    """
    if not url.startswith(_SCHEMES):
        raise InvalidField("--redis-url", f"must start with one of {', '.join(_SCHEMES)}")
    options: dict[str, Any] = {
        "decode_responses": decode,
        # Bytes that are no text come and go unharmed, and are refused by whoever reads the record that they are in: one
        # such record must not keep anybody from reading the others.
        "encoding_errors": TEXT_ERRORS if decode else "strict",
        "socket_timeout": socket_timeout_s,
        "socket_connect_timeout": socket_timeout_s,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 0,
    }
    try:
        client = redis.Redis.from_url(url, **options)
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # finds options it does not know; connects to nothing
    except (ValueError, TypeError) as error:
        raise InvalidField("--redis-url", "is not a Redis URL, such as redis://127.0.0.1:6379/0") from error
    if not _DATABASE.fullmatch(urlsplit(url).path) and not url.startswith("unix://"):
        raise InvalidField("--redis-url", "must end in the number of a database, such as /0, or in none")
    return client


@contextmanager
def translated() -> Iterator[None]:
    """Turns what redis-py raises into StoreUnavailable, whose text never carries the backend's own words."""
    try:
        yield
    except redis.exceptions.InvalidResponse as error:
        raise StoreUnavailable("what answers at --redis-url does not speak Redis") from error
    except redis.exceptions.AuthenticationError as error:
        raise StoreUnavailable("Redis refused the credentials in --redis-url") from error
    except redis.exceptions.ReadOnlyError as error:
        raise StoreUnavailable("this Redis is a read-only replica; point --redis-url at the primary") from error
    except redis.exceptions.TimeoutError as error:
        raise StoreUnavailable("Redis did not answer in time; whether the request took effect is unknown") from error
    except redis.exceptions.ConnectionError as error:
        raise StoreUnavailable("Redis cannot be reached; is it running, and is --redis-url right?") from error
    except redis.exceptions.RedisError as error:
        raise refusal(error) from error


def refusal(error: redis.exceptions.RedisError) -> StoreUnavailable:
    """What an error reply means, in our words: the server as a whole, or this one request."""
    reason = _reason(f"{type(error).__name__} {error}")
    if reason:
        return StoreUnavailable(reason)
    if "WRONGTYPE" in str(error):
        return StoreRefused("a key of this fleet holds something else: does another program use its prefix?")
    return StoreRefused("Redis refused the request")


def _reason(text: str) -> str | None:
    if "READONLY" in text:
        return "this Redis is a read-only replica; point --redis-url at the primary"
    if "DB index" in text:
        return "this Redis has no database of the number in --redis-url"
    if "OOM" in text or "OutOfMemory" in text:
        return "Redis is out of memory and refuses writes"
    if "MISCONF" in text:
        return "Redis cannot persist to disk and refuses writes"
    if "NOPERM" in text or "NOAUTH" in text or "NoPermission" in text:
        return "the Redis user in --redis-url may not do this"
    if "LOADING" in text or "BusyLoading" in text or "BUSY" in text or "MASTERDOWN" in text:
        return "Redis is busy and cannot serve yet"
    return None
