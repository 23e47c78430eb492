"""What a worker says to Redis for each job that it executes, counted by the server."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from collections.abc import Callable

import pytest
import redis

from duly.common.store.script_source import SHEBANG, script_names, source
from tests.benchmarks.executing import enqueue
from tests.fleet.harness import Fleet
from tests.fleet.processes import wait_until

pytestmark = pytest.mark.fleet

JOBS = 100
# Calls that only tell that a new server has not been given the script: on the line of the round, and on the pool's.
UNKNOWN_SCRIPT = 2
# RQ's own at a worker's birth, between its rounds, and where it waits.
BESIDES, BESIDES_A_ROUND = 80, 25


class Listener:
    """All commands that arrive while it listens, but for those of the connections to leave out."""

    def __init__(self, url: str, leave_out: Callable[[], set[str]]) -> None:
        self.commands: Counter[str] = Counter()
        self._leave_out = leave_out
        self._client = redis.Redis.from_url(url)
        self._monitor = self._client.monitor()
        self._monitor.__enter__()  # says MONITOR
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        out = self._leave_out()
        with contextlib.suppress(redis.exceptions.RedisError):  # the server ends with the test
            self._count(out)

    def _count(self, out: set[str]) -> None:
        for each in self._monitor.listen():
            if each["client_type"] != "lua" and f"{each['client_address']}:{each['client_port']}" not in out:
                name, *words = each["command"].split(" ")
                self.commands[SCRIPTS.get(words[0], name) if name == "EVALSHA" else name] += 1


SCRIPTS = {hashlib.sha1((SHEBANG + source(each).text).encode()).hexdigest(): each for each in script_names()}


def test_a_job_costs_two_round_trips(fleet: Fleet) -> None:
    enqueue(fleet.store, JOBS, "fleet.idempotent")
    mine = {fleet.store.client.client_info()["addr"]}
    listener = Listener(fleet.url, lambda: mine)
    fleet.start("a", scheduler=False)
    wait_until(lambda: len(fleet.effects("ended")) == JOBS, "all have run", 60)
    counted = dict(listener.commands)
    turns, begins, rounds = counted.pop("turn"), counted.pop("begin"), counted["BLMOVE"]
    about = turns, begins, rounds, counted
    # The last turn of each round finds nothing more to take; the one of the last round may not have been seen yet.
    assert JOBS + rounds - 2 <= turns <= JOBS + rounds + UNKNOWN_SCRIPT, about
    assert JOBS <= begins <= JOBS + UNKNOWN_SCRIPT, about
    assert sum(counted.values()) < BESIDES + BESIDES_A_ROUND * rounds, about
