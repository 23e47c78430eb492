"""No question costs more because more ticks lie between: work is counted here, not timed."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from duly.common.expression import Expression, parse
from duly.common.expression.cron import LocalTicks
from duly.common.expression.days import Days
from duly.common.expression.times import TimesOfDay
from duly.common.expression.zone import Zone


def instant(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp()) * 1000  # type: ignore[arg-type,misc]


NOW = instant(2026, 6, 15, 13, 0, 30)
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
BACKLOGS = {"a minute": MINUTE, "six hours": 6 * HOUR, "a month": 30 * DAY, "a year": 365 * DAY}
COUNTED = [
    (Zone, "span_at"),
    (LocalTicks, "at_or_after"),
    (LocalTicks, "at_or_before"),
    (LocalTicks, "count"),
    (Days, "_year"),
    (TimesOfDay, "at"),
    (TimesOfDay, "before"),
]
EVERY_SECOND = ["* * * * * *", "CRON_TZ=America/New_York * * * * * *", "CRON_TZ=Pacific/Chatham * * * * * *"]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """Counts the elementary steps a call takes, all of which go through these few methods."""
    steps: Counter[str] = Counter()

    def counting(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def counted(*args: object) -> object:
            steps[name] += 1
            return original(*args)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in COUNTED:
        counting(owner, name)

    def measure(call: Callable[[], object]) -> int:
        steps.clear()
        call()
        assert steps, "nothing was counted, so nothing was shown"
        return steps.total()

    return measure


@pytest.mark.parametrize("spec", EVERY_SECOND)
def test_a_longer_backlog_costs_no_more_to_step_over(spec: str, work: Callable[..., int]) -> None:
    expression = parse(spec)

    def cost(backlog_ms: int) -> tuple[int, int, int]:
        began = NOW - backlog_ms
        return (
            work(lambda: expression.next_after(began)),
            work(lambda: expression.latest_at(NOW, began)),
            work(lambda: expression.most_recent(NOW, 10, began)),
        )

    of_a_minute = cost(BACKLOGS["a minute"])
    assert all(cost(backlog_ms) == of_a_minute for backlog_ms in BACKLOGS.values())
    assert max(of_a_minute) <= 10 * 4


@pytest.mark.parametrize("spec", EVERY_SECOND)
def test_counting_costs_by_the_year_not_by_the_tick(spec: str, work: Callable[..., int]) -> None:
    expression = parse(spec)
    six_hours = work(lambda: expression.count_between(NOW - 6 * HOUR, NOW))
    forty_years = work(lambda: expression.count_between(NOW - 40 * 365 * DAY, NOW))
    assert work(lambda: expression.count_between(NOW - MINUTE, NOW)) == six_hours
    assert forty_years <= 40 * 4 * six_hours


@pytest.mark.parametrize("change", ["2026-03-08T07:00:00+00:00", "2026-11-01T06:00:00+00:00"])
def test_a_change_of_the_clocks_is_jumped_over(change: str, work: Callable[..., int]) -> None:
    expression = parse("CRON_TZ=America/New_York * * * * * *")
    at = round(datetime.fromisoformat(change).timestamp() * 1000)
    for instant in (at - 1, at, at + HOUR // 2, at + HOUR - 1, at + HOUR):
        assert work(lambda instant=instant: expression.next_after(instant)) <= 8
        assert work(lambda instant=instant: expression.latest_at(instant, 0)) <= 8
        assert work(lambda instant=instant: expression.most_recent(instant, 1, 0)) <= 8


@pytest.mark.parametrize("fields", ["0 0 29 2 *", "0 12 1 1 *", "30 2 8-14 3 ?"])
def test_rare_ticks_are_found_without_visiting_the_years_between(fields: str, work: Callable[..., int]) -> None:
    for zone in ("", "CRON_TZ=America/New_York ", "CRON_TZ=Africa/Casablanca "):
        expression = parse(zone + fields)
        for moment in (NOW, instant(2096, 3, 1), instant(2104, 2, 27)):
            assert work(lambda e=expression, at=moment: e.next_after(at)) <= 30
            assert work(lambda e=expression, at=moment: e.latest_at(at, 0)) <= 30


def test_an_interval_asks_for_recent_ticks_out_of_thirty_years_without_holding_them() -> None:
    expression: Expression = parse("@every:100")
    assert expression.most_recent(NOW, 2, NOW - 30 * 365 * DAY) == [NOW - 100, NOW]
    assert expression.count_between(NOW - 30 * 365 * DAY, NOW) == 30 * 365 * DAY // 100 + 1


def test_the_package_imports_no_store_no_queue_and_no_command_line() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import sys, duly.common.expression; print(*sys.modules)"],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {name.partition(".")[0] for name in found.stdout.split()}
    assert "duly" in imported
    assert not imported & {"redis", "rq", "click", "pydantic", "croniter", "time_machine"}
