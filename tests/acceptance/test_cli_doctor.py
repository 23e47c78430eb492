"""`duly doctor`, on real servers that are set up well and badly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from duly.common.cli import checks
from duly.common.cli.checks import Status, examine
from duly.common.settings import Settings
from duly.common.store import Store
from tests.acceptance.conftest import ADD, Cli
from tests.conftest import Backend

pytestmark = pytest.mark.server

SAFE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}
UNSAFE = {"appendonly": "no", "appendfsync": "everysec", "maxmemory-policy": "noeviction"}


def found(client: Any) -> dict[str, Status]:
    return {check.name: check.status for check in examine(client)}


@pytest.fixture
def configure(valkey: Backend) -> Any:
    def apply(**options: str) -> None:
        for name, value in options.items():
            valkey.client.config_set(name.replace("_", "-"), value)

    yield apply
    apply(**UNSAFE)


def test_a_safe_store_passes_every_check(valkey: Backend, configure: Callable[..., None]) -> None:
    configure(**SAFE)
    shown = Cli().json("doctor", "--redis-url", valkey.url)
    assert shown["ok"]
    assert {check["status"] for check in shown["checks"]} == {"ok"}
    assert {check["name"] for check in shown["checks"]} == {
        "reachable", "latency", "clock", "version", "role", "cluster", "eviction", "persistence", "fsync", "replicas",
        "scripts", "permissions", "queues",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "name", "status"),
    [
        ({"maxmemory_policy": "allkeys-lru"}, "eviction", "fail"),
        ({"appendonly": "no"}, "persistence", "warn"),
        ({"appendonly": "yes", "appendfsync": "everysec"}, "fsync", "warn"),
        ({"appendonly": "yes", "appendfsync": "no"}, "fsync", "warn"),
    ],
)
def test_what_is_unsafe_is_found(
    valkey: Backend, configure: Callable[..., None], options: dict[str, str], name: str, status: str
) -> None:
    configure(**options)
    result = Cli()("doctor", "--json", "--redis-url", str(valkey.url))
    shown = json.loads(result.stdout)
    (check,) = [check for check in shown["checks"] if check["name"] == name]
    assert check["status"] == status
    assert check["advice"]
    assert (shown["ok"], result.exit_code) == ((False, 1) if status == "fail" else (True, 0))


def test_a_failed_check_is_named_in_the_line_on_stderr(valkey: Backend, configure: Callable[..., None]) -> None:
    configure(maxmemory_policy="allkeys-lru")
    result = Cli()("doctor", "--redis-url", str(valkey.url))
    assert result.stderr == "duly: 1 check failed: eviction\n"
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_what_may_not_be_asked_is_unknown_and_never_guessed(valkey: Backend) -> None:
    valkey.client.execute_command("ACL", "SETUSER", "plain", "on", ">pw", "~*", "&*", "+@all", "-info", "-config")
    port = valkey.client.connection_pool.connection_kwargs["port"]
    with redis.Redis(port=port, username="plain", password="pw", decode_responses=True) as client:
        shown = found(client)
    unknown = {name for name, status in shown.items() if status is Status.UNKNOWN}
    assert unknown == {"version", "role", "cluster", "eviction", "persistence", "fsync", "replicas"}
    valkey.client.execute_command("ACL", "DELUSER", "plain")


@pytest.fixture
def limited(valkey: Backend) -> Iterator[Callable[..., str]]:
    """Makes the user `limited`, who may do what is given and no more; gives the URL with which it comes."""

    def make(*rights: str) -> str:
        valkey.client.execute_command("ACL", "SETUSER", "limited", "reset", "on", ">pw", *rights)
        return str(valkey.url).replace("redis://", "redis://limited:pw@")

    yield make
    valkey.client.execute_command("ACL", "DELUSER", "limited")


@pytest.mark.parametrize(
    ("rights", "named"),
    [
        ("~* +@all", "PUBLISH duly:wake"),
        ("~* &* +@all -xadd", "XADD duly:runs"),
        ("~duly:* &* +@all", "RPUSH rq:queue:"),
        ("~rq:* ~duly:* &rq:* &duly:* +@all", ""),
    ],
)
def test_what_the_user_may_not_do_is_named_before_a_script_stops_half_way(
    limited: Callable[..., str], rights: str, named: str
) -> None:
    url = limited(*rights.split())
    shown = json.loads(Cli()("doctor", "--json", "--redis-url", url).stdout)
    (check,) = [each for each in shown["checks"] if each["name"] == "permissions"]
    refused = Store.connect(Settings(redis_url=url)).permissions.refused()
    if not named:
        assert (check["status"], refused) == ("ok", [])
        return
    assert check["status"] == "fail"
    assert named in refused
    assert refused[0] in check["detail"]
    assert f"may not {refused[0]}" in Cli().refusal("scheduler", "--redis-url", url)


def test_a_change_is_whole_though_nobody_may_be_woken(limited: Callable[..., str]) -> None:
    cli = Cli(Store.connect(Settings(redis_url=limited("~*", "+@all"))))
    shown = cli.json("schedule", "add", "docs", *ADD)
    assert shown["schedule_id"] == "docs"
    assert [each["what"] for each in cli.json("schedule", "changes", "docs")["changes"]] == ["created"]


def test_an_unreachable_store_fails_without_a_guess(unreachable_url: str) -> None:
    result = Cli()("doctor", "--json", "--redis-url", unreachable_url)
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["ok"]) == (1, False)
    assert [check["name"] for check in shown["checks"]] == ["reachable"]


def test_clocks_that_differ_are_a_warning(valkey: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "wall_ms", lambda: 1_000)
    assert found(valkey.client)["clock"] is Status.WARN


@pytest.mark.parametrize(
    ("info", "status"),
    [
        ({"redis_version": "6.2.14"}, Status.FAIL),
        ({"redis_version": "7.0.0"}, Status.OK),
        ({"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "7.2.5"}, Status.OK),
        ({"redis_version": "255.255.255", "server_name": "valkey"}, Status.UNKNOWN),
        ({"redis_version": "new"}, Status.UNKNOWN),
        ({}, Status.UNKNOWN),
    ],
)
def test_versions_are_judged_by_product(info: dict[str, str], status: Status) -> None:
    assert checks._version(info, None).status is status


@pytest.mark.parametrize(
    ("info", "config", "status"),
    [
        ({"connected_slaves": 0}, None, Status.OK),
        ({"connected_slaves": 1}, None, Status.UNKNOWN),
        ({"connected_slaves": 1}, {"min-replicas-to-write": "0"}, Status.WARN),
        ({"connected_slaves": 2}, {"min-replicas-to-write": "1"}, Status.OK),
    ],
)
def test_replicas_need_a_bound_on_what_a_failover_loses(
    info: dict[str, Any], config: dict[str, str] | None, status: Status
) -> None:
    assert checks._replicas(info, config).status is status


def test_cluster_mode_fails() -> None:
    assert checks._cluster({"cluster_enabled": 1}, None).status is Status.FAIL
