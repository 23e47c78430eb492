"""The command line in this process, on a store that the test holds in its hand."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import fakeredis
import pytest
from click.testing import CliRunner, Result

from duly.common.cli import root
from duly.common.cli.app import App
from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.store import Store
from tests.conftest import Backend
from tests.store.conftest import Bench

HOSTILE = "[red]x[/] :boom: €"
ADD = ("--spec", "@every:60000", "--task", "docs.refresh", "--missed-run-policy", "skip", "--review-owner", "ann")


@dataclass
class Cli:
    """Runs `duly`; without a store it connects as the environment and the options say."""

    store: Store | None = None

    def __call__(self, *args: str, stdin: str | bytes | None = None, **env: str) -> Result:
        app = App() if self.store is None else App(connect=lambda *_, **__: self.store)
        return CliRunner().invoke(
            root, list(args), input=stdin, env={"COLUMNS": "80", **env}, obj=app, prog_name="duly"
        )

    def json(self, *args: str, **env: str) -> Any:
        """The JSON that a command prints, which must succeed."""
        result = self(*args, "--json", **env)
        assert (result.exit_code, result.stderr) == (0, "")
        return json.loads(result.stdout)

    def text(self, *args: str, **env: str) -> str:
        """What a command prints for people, which must succeed."""
        result = self(*args, **env)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    def refusal(self, *args: str, code: int = 1, stdin: str | None = None, **env: str) -> str:
        """The one line with which a command is refused."""
        result = self(*args, stdin=stdin, **env)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        assert result.stderr.startswith("duly: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("duly: ").rstrip("\n")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("DULY_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def cli(fake: Backend) -> Cli:
    """`duly` on an empty store whose clock stands still."""
    return Cli(fake.store())


@pytest.fixture
def bench(fake: Backend) -> Bench:
    """The fleet behind `cli`."""
    return Bench(fake, fake.store())


@pytest.fixture
def lived_in(bench: Bench) -> Occurrence:
    """A store in which something of everything has happened; the held occurrence of 'docs'."""
    return live_in(bench)


def live_in(bench: Bench) -> Occurrence:
    """Hold one tick of 'docs', drop a backlog of 'feed', pause 'paused'; processes are there."""
    for name in ("docs", "feed", "paused", "a" * 64):
        bench.add(schedule_id=name, spec="@every:60000", review_owner=HOSTILE, kwargs={"path": HOSTILE})
    bench.store.schedules.pause("paused", HOSTILE)
    held = bench.due("docs")
    bench.running(held, effects=Effects.UNSAFE)
    bench.expire(held)
    bench.sweep()
    done = bench.lease(Occurrence("feed", held.tick_ms))
    bench.begin(done, Effects.IDEMPOTENT)
    bench.store.attempts.complete(done, "etag:1")
    bench.pass_time(3_600_000)
    bench.sweep()
    bench.store.fleet.beat("host-1.1", {"role": "worker", "state": "idle", "queues": ["default"], "pid": 1})
    bench.store.fleet.beat("host-1.s", {"role": "scheduler", "state": "holding"})
    return held


def key_space(client: Any) -> dict[bytes, Any]:
    """Every key of a fakeredis, what is in it and how long it lives; undecoded, since RQ keeps bytes."""
    raw = fakeredis.FakeRedis(host=client.connection_pool.connection_kwargs["host"])  # the name of its server
    read = {
        b"string": raw.get,
        b"hash": raw.hgetall,
        b"list": lambda key: raw.lrange(key, 0, -1),
        b"set": raw.smembers,
        b"zset": lambda key: raw.zrange(key, 0, -1, withscores=True),
        b"stream": raw.xrange,
    }
    return {key: (read[raw.type(key)](key), raw.pttl(key)) for key in raw.keys("*")}
