"""The quick server is Redis, only quicker: the same replies, the same errors, the same keys in the end.

It is compared with fakeredis, whose clock can be moved, and with a real server where time says nothing. Where they
differ, the test says how.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import fakeredis
import pytest
import time_machine

from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.settings import Settings
from duly.common.store import Store, script_source, scripts
from duly.common.store.holds import Resolution
from duly.worker.gate import judge
from tests.conftest import FAKE_START_MS, Backend
from tests.simulator.fast_fake import FastFake, fresh
from tests.simulator.quick_draws import DRAWS, EQUAL, STEP_MS, WRONG_TYPE, drawn, key_space, outcome
from tests.simulator.quick_server import Unsupported
from tests.store.conftest import Bench

# What says something of the time, which a real server's clock decides.
TIMED = {name for name in DRAWS if name.startswith("X")} | {"TIME", "PTTL", "EXPIRE", "PEXPIRE", "SET"}


@pytest.fixture
def clients() -> Any:
    with time_machine.travel(FAKE_START_MS / 1000, tick=False) as traveller:
        both = fakeredis.FakeRedis(decode_responses=True, server=fakeredis.FakeServer()), fresh()
        for each in both:
            each.zadd("equal", EQUAL)
        yield *both, traveller


def told_by(clients: list[Any], command: list[Any]) -> list[Any]:
    options = {"withscores": True} if "WITHSCORES" in command else {}
    return [outcome(lambda client=client: client.execute_command(*command, **options)) for client in clients]  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(8))
def test_clients_get_the_same_replies_and_leave_the_same_keys(clients: Any, seed: int) -> None:
    theirs, ours, traveller = clients
    rng = random.Random(seed)
    for _ in range(350):
        if rng.random() < 0.2:
            traveller.shift(STEP_MS / 1000)
        command = drawn(rng, DRAWS)
        told = told_by([theirs, ours], command)
        if command[0] == "XREAD" and told[1] == WRONG_TYPE:
            continue  # fakeredis trips over it
        if command[0] in {"ZADD", "ZRANGE"} and told[0] == WRONG_TYPE:
            told[1] = (told[1][0], WRONG_TYPE[1])  # Redis reads scores and bounds before it looks at the key
        assert told[1] == told[0], command
    assert key_space(ours) == key_space(theirs)


@pytest.mark.server
@pytest.mark.parametrize("seed", range(100, 103))
def test_a_real_server_gives_the_same_replies(valkey: Backend, seed: int) -> None:
    theirs, ours = valkey.client, fresh()
    for each in (theirs, ours):
        each.zadd("equal", EQUAL)
    rng = random.Random(seed)
    for _ in range(400):
        command = drawn(rng, DRAWS.keys() - TIMED)
        told = told_by([theirs, ours], command)
        assert told[1] == told[0], command
    assert key_space(ours) == key_space(theirs)


SEEN = """
local function seen(value)
  if type(value) ~= 'table' then
    return type(value) .. ' ' .. tostring(value)
  end
  if value.err then
    return 'refused'
  end
  local out = {}
  for at, each in ipairs(value) do
    out[at] = seen(each)
  end
  return '{' .. table.concat(out, ', ') .. (value.ok and ' ok ' .. value.ok or '') .. '}'
end
return seen(redis.pcall(unpack(ARGV)))
"""


@pytest.mark.parametrize("seed", range(3))
def test_scripts_see_the_same_values(clients: Any, seed: int) -> None:
    theirs, ours, traveller = clients
    rng = random.Random(seed)
    scripts_of = [(client.register_script(SEEN), client) for client in (theirs, ours)]
    for _ in range(150):
        if rng.random() < 0.2:
            traveller.shift(STEP_MS / 1000)
        command = drawn(rng, DRAWS.keys() - {"XREAD", "SMEMBERS"})
        told = [script(args=command, client=client) for script, client in scripts_of]
        assert told[1] == told[0], command
    assert key_space(ours) == key_space(theirs)


@pytest.mark.parametrize(
    "body",
    [
        "return {1, 2.9, -2.9, 'text', true, {'nested', {}}, false, 'after', nil, 'cut'}",
        "return nil",
        "return false",
        "return 3.99",
        "return {}",
        "return redis.status_reply('FINE')",
        "return redis.error_reply('MINE no')",
        "return redis.call('SET', KEYS[1], 12345678901234)",
        "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])",
        "return redis.call('GET', {})",
        "return redis.call('GET', nil)",
        "return redis.call('INCR', KEYS[1], 'too', 'many') and 1",
        "redis.call('HSET', KEYS[1], 'a', 'b') return redis.call('GET', KEYS[1])",
        "local t = cjson.decode(ARGV[1]) return {t.a[1], t.a[2], t.text, t.none == cjson.null and 'null', #t.empty}",
        "return cjson.decode(cjson.encode({ a = { 1, 2.5, 'x' }, [10] = true, ['é\"\\\\'] = 'z' })).a[2] * 2",
        "return tostring(cjson.decode('1767225600123') + 0.5)",
        "return unknown_name",
        "error('stop')",
    ],
)
def test_what_a_script_returns_arrives_the_same(clients: Any, body: str) -> None:
    theirs, ours, _ = clients
    if "too" in body:
        with pytest.raises(TypeError):
            ours.register_script(body)(keys=["k"])
        return
    text = '{"a": [1, 2.5], "text": "Z\\u00fcrich/\\n", "none": null, "empty": []}'
    told = [outcome(lambda c=c: c.register_script(body)(keys=["k"], args=[text])) for c in (theirs, ours)]  # type: ignore[misc]
    if "unknown_name" in body:
        assert told == [None, ("ResponseError", told[1][1])]
    elif isinstance(told[0], tuple):
        assert told[1][0] == told[0][0]
    else:
        assert told[1] == told[0]


def test_json_is_what_redis_makes_of_it() -> None:
    client = fresh()

    def encoded(lua: str) -> Any:
        return client.register_script(f"return cjson.encode({lua})")()

    assert encoded("{}") == "{}"
    assert encoded("{ 1, 'b', { c = 1767225600123 } }") == '[1,"b",{"c":1767225600123}]'
    assert encoded("0.1 + 0.2") == "0.3"
    assert encoded("12345678901234567") == "1.2345678901235e+16"
    assert encoded("'a/b\"\\127\\1'") == '"a\\/b\\"\\u007f\\u0001"'
    assert encoded("{ [1] = 'a', [3] = 'c' }") == '["a",null,"c"]'
    assert encoded("{ cjson.null, true }") == "[null,true]"
    assert outcome(lambda: encoded("{ [20] = 1 }"))[0] == "ResponseError"
    assert outcome(lambda: encoded("1 / 0"))[0] == "ResponseError"


def test_what_nobody_gives_is_no_reply() -> None:
    client = fresh()
    for command in ("RPOP k", "SET k v EX 1", "ZADD k GT 1 a", "XADD k 1-1 a b", "EVAL text 0"):
        with pytest.raises(Unsupported):
            client.execute_command(*command.split())
    with pytest.raises(Unsupported):
        client.register_script("return redis.call('RPOP', 'k')")()


def test_a_time_to_live_of_nothing_ends_a_key_at_once_as_in_redis() -> None:
    client = fresh()
    client.set("k", "v")
    assert client.pexpire("k", 0) is True
    assert client.exists("k") == 0


def test_a_key_is_there_in_its_last_millisecond() -> None:
    with time_machine.travel(FAKE_START_MS / 1000, tick=False) as traveller:
        client = fresh()
        client.set("k", "v", px=7)
        traveller.move_to((FAKE_START_MS + 7) / 1000)
        assert (client.get("k"), client.pttl("k")) == ("v", 0)
        traveller.move_to((FAKE_START_MS + 8) / 1000)
        assert (client.get("k"), client.pttl("k"), client.set("k", "w", nx=True)) == (None, -2, True)


def test_listeners_hear_what_scripts_publish() -> None:
    client, heard = fresh(), []
    client.listen("wake", lambda: heard.append(1))
    client.register_script("redis.call('PUBLISH', 'wake', '')")()
    assert heard == [1]


def a_day_at_the_store(client: Any, advance: Callable[[int], None]) -> list[Any]:
    """Most of what the store can do, and what became of it; tokens are the same each time."""
    bench = Bench(Backend("any", client, None, advance), Store(client, Settings(), shebang=False), token="duty")
    store, told = bench.store, []
    bench.add(retry_budget=2)
    bench.add(schedule_id="other", spec="@every:250", missed_run_policy="backfill", backfill_limit=3)
    for turn in range(10):
        bench.until(store.schedules.now_ms() // STEP_MS * STEP_MS + 2 * STEP_MS)
        bench.sweep()
        for job in iter(lambda: client.lpop("rq:queue:default"), None):
            schedule_id, _, rest = str(client.hget(f"rq:job:{job}", "meta")).partition('": "')[2].partition('", "')
            tick_ms = int(rest.rpartition(": ")[2].rstrip("}"))
            told.append(_attempt(bench, schedule_id, tick_ms, f"token-{turn}"))
        told += [bench.events(), bench.history(), bench.events("other"), bench.held(), bench.queue()]
        for record in store.holds.page(10)[0]:
            told.append(store.holds.resolve(record.occurrence, Resolution.COMMITTED, "ann", "seen"))
    store.schedules.pause("other", "a note", None)
    store.schedules.update("docs", {"spec": "@every:500"})
    told.append(outcome(lambda: store.manual.run("docs", "key")))
    store.schedules.delete("docs")
    told.append(outcome(lambda: store.schedules.page(10)))
    return told


def _attempt(bench: Bench, schedule_id: str, tick_ms: int, token: str) -> Any:
    attempts, occurrence = bench.store.attempts, Occurrence(schedule_id, tick_ms)
    grant = attempts.acquire(occurrence, 1, token, "w@1")
    lease = grant.lease
    if lease is None:
        return grant
    judgement = judge(attempts.evidence(occurrence), Effects.UNSAFE, "NO_COMMITTED_RESULT")
    begun = attempts.begin(lease, Effects.UNSAFE, judgement) if judgement.decision.runs else None
    deeds: list[Callable[[], Any]] = [
        lambda: attempts.complete(lease, "result"),
        lambda: attempts.fail(lease, "broken"),
        lambda: attempts.renew(lease),
        lambda: attempts.relinquish(lease, "stopping"),
    ]
    return grant, begun, outcome(deeds[tick_ms // STEP_MS % len(deeds)])


def test_the_store_does_the_same_on_both(clients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours, traveller = clients
    told, left = [], []
    for client in (theirs, ours):
        traveller.move_to(FAKE_START_MS / 1000)
        told.append(a_day_at_the_store(client, lambda ms: traveller.shift(ms / 1000)))
        left.append(key_space(client))
    assert told[1] == told[0]
    assert left[1] == left[0]
    assert len(left[0]) > 20


def test_every_script_compiles() -> None:
    client: FastFake = fresh()
    for name in script_source.script_names():
        assert client.script_load("#!lua\n" + scripts.source(name).text)
