"""How late a due tick becomes a job under light load: seen by somebody who waits for it at its queue.

The floor is what nobody can go below: a timer that wakes a process, which then sends a PING. Lateness counts from the
instant a tick may be released. All clocks are this machine's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import redis

from duly.common.records.definition import ScheduleDefinition
from duly.common.settings import Settings
from duly.common.store import Store
from duly.common.timetable import Timetable
from tests.benchmarks import processes
from tests.benchmarks.bulk import add_all, daily, plain
from tests.benchmarks.measuring import Comparison, in_turn, percentile
from tests.fleet.processes import wait_until

PERIOD_MS = 10_000
SECONDS_MS = 30_000
"""How long `rq cron` has a tick a second, which it cannot spread finer, and `duly` has the same."""
PER_SECOND = 10
"""Ticks of `duly` in each second, spread by jitter, so that some come together."""
EACH_SECOND = "duly, a tick a second"
_QUEUE = "rq:queue:default"
_TIMERS = 100
_TIMER_MS = 20


def measure(rounds: int, size: int) -> Comparison:
    """On a server of its own; ``size`` schedules that are not due stand beside those that are."""
    logging.disable(logging.INFO)
    with processes.server() as url:
        figures = in_turn(
            {
                "timer wake + PING": lambda: percentile(timers_ms(url), 99),
                "duly": lambda: percentile(duly_ms(url, size, PERIOD_MS), 99),
                EACH_SECOND: lambda: percentile(duly_each_second_ms(url, size, SECONDS_MS), 99),
                "rq cron": lambda: percentile(rq_cron_ms(url, SECONDS_MS), 99),
            },
            rounds,
        )
    made = Comparison("Lateness of a due tick, p99 of each round", "ms", "timer wake + PING", figures, ["rq cron"])
    made.want("duly, p99, ms", figures["duly"].median, "3")
    made.want("duly / timer wake + PING", made.ratio("duly"), "-", "2")
    made.want(f"{EACH_SECOND} / rq cron", made.ratio(EACH_SECOND, "rq cron"), "below 1")
    made.notes += [
        f"duly: {PER_SECOND} ticks a second, {PER_SECOND * PERIOD_MS // 1000} in a round, among {size:,} others",
        f"a tick a second, as rq cron has it: {SECONDS_MS // 1000} in a round, and the p99 of so few is their worst",
    ]
    return made


def timers_ms(url: str) -> list[float]:
    """How long after an instant a process has slept until it and had the answer to a PING."""
    late: list[float] = []
    with redis.Redis.from_url(url) as client:
        for _ in range(_TIMERS):
            instant_ms = _now_ms() + _TIMER_MS
            time.sleep((instant_ms - _now_ms()) / 1000)
            client.ping()
            late.append(_now_ms() - instant_ms)
    return late


def duly_ms(url: str, size: int, window_ms: int) -> list[float]:
    """How late the ticks were of a real `duly scheduler`, of which every schedule has one in the window."""
    definitions = [
        plain(f"late-{number}", spec=f"@every:{window_ms}", jitter_window_ms=window_ms - 1)
        for number in range(PER_SECOND * window_ms // 1000)
    ]
    return _duly_ms(url, size, definitions, window_ms, skip=PER_SECOND)


def duly_each_second_ms(url: str, size: int, window_ms: int) -> list[float]:
    """The same in each second of the window, of one schedule."""
    return _duly_ms(url, size, [plain("late", spec="@every:1000")], window_ms, skip=1)


def _duly_ms(url: str, size: int, definitions: list[ScheduleDefinition], window_ms: int, skip: int) -> list[float]:
    store = Store.connect(Settings(redis_url=url, redelivery_ms=processes.LONG_MS))
    processes.empty(url)
    timetables = {each.schedule_id: each.timetable for each in definitions}
    add_all(store, daily(size))
    with processes.running("duly", "scheduler", redis_url=url, redelivery_ms=processes.LONG_MS):
        wait_until(lambda: store.fleet.snapshot()["duty"]["holder"], "somebody holds the duty")
        add_all(store, definitions)
        return _late_ms(url, window_ms, lambda job_id, _: _released_ms(job_id, timetables), skip=skip)


def rq_cron_ms(url: str, window_ms: int) -> list[float]:
    """How late a real `rq cron` scheduler was in each second of the window."""
    processes.empty(url)
    with processes.running("-m", "tests.benchmarks.every_second", url):
        return _late_ms(url, window_ms, lambda _, now_ms: now_ms // 1000 * 1000, skip=1)


def _late_ms(url: str, window_ms: int, instant_of: Callable[[str, float], float], skip: int = 0) -> list[float]:
    """Milliseconds between each job's instant and its arrival, for a window that begins with the first arrival.

    ``skip``: how many of them are warming up.
    """
    late: list[float] = []
    with redis.Redis.from_url(url, decode_responses=True, socket_timeout=None) as client:
        end_ms = _now_ms() + 2 * window_ms
        first_ms: float | None = None
        while (left_ms := end_ms - _now_ms()) > 0:
            found = client.blpop([_QUEUE], timeout=left_ms / 1000)
            now_ms = _now_ms()
            if found is None:
                break
            if first_ms is None:
                first_ms, end_ms = now_ms, now_ms + window_ms
            late.append(now_ms - instant_of(found[1], now_ms))
    return late[skip:]


def _released_ms(job_id: str, timetables: dict[str, Timetable]) -> float:
    """When the tick of the job ``duly-late-7-1767225600000-1`` could be released."""
    schedule_id, tick, _ = job_id.removeprefix("duly-").rsplit("-", 2)
    return timetables[schedule_id].release_ms(int(tick))


def _now_ms() -> float:
    return time.time_ns() / 1e6
