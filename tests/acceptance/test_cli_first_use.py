"""What somebody new reads off the command line: what failed and where more is said, what to do, who did what."""

from __future__ import annotations

import io
import shlex
from itertools import pairwise

import fakeredis
import pytest
from rq import Queue, SimpleWorker

from duly.common.cli.checks import Status
from duly.common.cli.queue_checks import examine_queues
from duly.common.cli.up import next_steps
from duly.common.demo import running
from duly.common.demo.narrator import PlainNarrator
from duly.common.explain.drops import Cause, cause_of
from duly.common.identity import Occurrence
from duly.common.records.occurrence import Effects
from duly.common.records.trail import ChangeEvent, EnqueueEvent
from tests.acceptance.conftest import ADD, Cli
from tests.conftest import Backend
from tests.pure.test_demo_narrator import Stopped
from tests.store.conftest import Bench

LOG = "ValueError in attempt 1; where it was raised is in the log of worker up-1.1 at 2026-01-01T00:01:00Z"


def squeezed(text: str) -> str:
    return " ".join(text.split())


def spent(bench: Bench) -> Occurrence:
    """Held, since its only attempt raised a ValueError."""
    bench.add(schedule_id="docs", spec="@every:60000", retry_budget=1)
    occurrence = bench.due()
    lease = bench.lease(occurrence, owner="up-1.1.a1b2c3@7")
    bench.begin(lease)
    bench.store.attempts.fail(lease, "ValueError")
    return occurrence


def test_an_error_is_named_with_the_worker_whose_log_says_where(cli: Cli, bench: Bench) -> None:
    occurrence = spent(bench)
    for command in (["holds"], ["occurrence", str(occurrence)]):
        assert f"last error {LOG}, its message is kept nowhere" in squeezed(cli.text(*command))
    (told,) = cli.json("holds")["holds"]
    assert (told["last_error"], told["last_error_attempt"]) == ("ValueError", 1)
    assert (told["last_error_by"], told["last_error_at"]) == ("up-1.1.a1b2c3@7", "2026-01-01T00:01:00Z")


def test_an_error_of_a_record_that_does_not_say_when_is_named_alone(cli: Cli, bench: Bench) -> None:
    occurrence = spent(bench)
    bench.backend.client.hdel(bench.store.keys.occurrence(occurrence), "last_error_ms")
    assert "\nlast error  ValueError\n" in cli.text("holds")


def test_the_command_that_is_offered_for_a_spent_budget_succeeds(cli: Cli, bench: Bench) -> None:
    spent(bench)
    said = cli.text("holds").replace("\\\n", "")
    assert "its only attempt was made and did not succeed" in squeezed(said)
    again, otherwise = [line for line in said.splitlines() if line.startswith("  duly hold resolve")]
    assert "--outcome OUTCOME" in otherwise
    words = shlex.split(again.replace("NAME", "ann").replace("REF", "ticket"))
    assert cli.json(*words[1:])["state"] == "PENDING"


def test_a_timeline_says_when_older_lines_of_it_were_dropped(cli: Cli, bench: Bench) -> None:
    occurrence = spent(bench)
    assert cli.json("occurrence", str(occurrence))["timeline_trimmed"] is False
    assert "were dropped" not in cli.text("occurrence", str(occurrence))
    for left in (2, 0):
        bench.backend.client.xtrim(bench.store.keys.runs("docs"), maxlen=left, approximate=False)
        assert cli.json("occurrence", str(occurrence))["timeline_trimmed"] is True
        assert "latest DULY_SCHEDULE_HISTORY transitions are kept" in squeezed(cli.text("occurrence", str(occurrence)))


def test_a_tick_that_is_still_ahead_misses_no_timeline(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="docs", spec="@every:60000")
    assert cli.json("occurrence", "docs", "2026-01-01T00:01:00Z")["timeline_trimmed"] is False


def test_a_list_of_schedules_breaks_neither_ids_nor_instants_nor_words_of_a_spec(cli: Cli) -> None:
    spec = "CRON_TZ=America/New_York 0,15,30,45 9-16 * * MON-FRI"
    long = "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 1,2,3,4,5,6,7 1,2,3,4,5,6,7 * MON-FRI"
    cli.json("schedule", "add", "opening-bell-report", *ADD, "--spec", spec)
    cli.json("schedule", "add", "b" * 64, *ADD, "--spec", long)
    cli.json("schedule", "add", "c", *ADD)
    cli.json("schedule", "pause", "c", "--note", "n", "--until", "2026-02-01T00:00:00Z")
    lines = cli.text("schedule", "list").splitlines()
    assert [line.split() for line in lines if "T14:00:00Z" in line] == [
        ["opening-bell-report", "active", "2026-01-01T14:00:00Z", "-"]
    ]
    assert f"  {spec}" in lines
    assert "b" * 64 in lines
    assert set(long.split()) <= {word for line in lines for word in line.split()}
    assert ["c", "paused", "2026-02-01T00:00:00Z", "-"] in [line.split() for line in lines]
    assert any(line.split()[-3:] == ["at", "the", "earliest"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_change_names_the_person_and_what_they_came_through(cli: Cli, bench: Bench) -> None:
    occurrence = spent(bench)
    cli.json("hold", "resolve", str(occurrence), "--outcome", "committed", "--by", "Bo", "--evidence", "row 7")
    cli.json("schedule", "update", "docs", "--retry-budget", "5", "--spec", "@every:120000")
    change = cli.json("schedule", "changes", "docs")["changes"][1]
    lines = [squeezed(line) for line in cli.text("schedule", "changes", "docs").splitlines()]
    assert f"00:01:00.000 resolved 1 Bo, through {change['actor']}" in lines
    assert f"00:01:00.000 updated 2 {change['actor']}" in lines
    assert {"retry_budget: 1 -> 5", "spec: @every:60000 -> @every:120000"} <= set(lines)
    assert not [line for line in lines if "by Bo" in line]


def test_a_decision_that_allows_a_run_says_so_before_its_code(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="docs", spec="@every:60000")
    occurrence = bench.due()
    bench.running(occurrence, effects=Effects.IDEMPOTENT)
    allowed = "may run (INTERVAL_RUN_REVIEW_REQUIRED)"
    assert f"decision {allowed}" in squeezed(cli.text("occurrence", str(occurrence)))
    assert f"decision 1 {allowed}" in squeezed(cli.text("recompute", str(occurrence)))
    examples = squeezed(cli.text("contract", "examples"))
    assert "may run: a bounded catch-up (BOUNDED_CATCH_UP_REVIEW_REQUIRED)" in examples


@pytest.mark.parametrize(
    ("spec", "after", "said"),
    [
        (
            "30 2 * * *",
            "2027-03-26T00:00:00Z",
            "Sun 2027-03-28: clocks go forward, 02:00 to 03:00; 02:30 does not exist on that day and is left out",
        ),
        (
            "0,15,30,45 2 * * *",
            "2027-03-27T22:00:00Z",
            "Sun 2027-03-28: clocks go forward, 02:00 to 03:00; 02:00, 02:15, 02:30, ... do not exist on that day and "
            "are left out",
        ),
        (
            "30 2 * * *",
            "2027-10-29T12:00:00Z",
            "Sun 2027-10-31: clocks go back, 03:00 to 02:00; 02:30 comes twice on that day and runs at the first of "
            "the two",
        ),
    ],
)
def test_a_preview_says_what_a_change_of_the_clocks_does(cli: Cli, spec: str, after: str, said: str) -> None:
    told = cli.text("schedule", "preview", f"CRON_TZ=Europe/Berlin {spec}", "--after", after, "--count", "4")
    assert squeezed(told).endswith(said)


def test_a_preview_keeps_silent_about_clocks_that_touch_no_tick_of_it(cli: Cli) -> None:
    for spec in ("CRON_TZ=Europe/Berlin 30 4 * * *", "30 2 * * *", "@every:60000"):
        assert "clocks go" not in cli.text("schedule", "preview", spec, "--after", "2027-03-27T00:00:00Z")


def complete(cli: Cli, line: str, **env: str) -> list[str]:
    words = line.split(" ")
    said = cli(_DULY_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1), **env)
    assert said.stderr == ""
    return [each.removeprefix("plain,") for each in said.stdout.split()]


TAKE_AN_ID = [
    "occurrence", "run", "events", "runs", "recompute", "hold resolve", "hold approve",
    *(f"schedule {each}" for each in ("show", "pause", "resume", "delete", "update", "changes", "preview")),
]  # fmt: skip


@pytest.mark.parametrize("command", TAKE_AN_ID)
def test_a_shell_completes_ids_of_schedules(cli: Cli, bench: Bench, command: str) -> None:
    for name in ("docs", "docs-2", "feed"):
        bench.add(schedule_id=name)
    assert complete(cli, f"duly {command} d") == ["docs", "docs-2"]
    assert complete(cli, f"duly {command} ") == ["docs", "docs-2", "feed"]
    assert complete(cli, f"duly {command} x") == []


def test_a_shell_is_offered_fifty_ids_at_most(cli: Cli, bench: Bench) -> None:
    for number in range(60):
        bench.add(schedule_id=f"s{number:02d}")
    assert complete(cli, "duly events s") == [f"s{number:02d}" for number in range(50)]


def test_completion_is_silent_where_no_redis_answers(unreachable_url: str) -> None:
    assert complete(Cli(), "duly events s", DULY_REDIS_URL=unreachable_url) == []
    assert complete(Cli(), "duly events s", DULY_REDIS_URL="nonsense") == []


def test_what_needs_no_redis_does_not_offer_its_address_and_takes_it(cli: Cli) -> None:
    for command in (["contract"], ["contract", "decide"], ["contract", "schema"], ["contract", "examples"]):
        assert "--redis-url" not in cli.text(*command, "--help")
    assert cli.json("contract", "examples", "--redis-url", "redis://nowhere.example")["examples"]


def test_up_tells_what_there_is_to_do_next() -> None:
    new = next_steps("redis://x", ["a.b", "c"], "http://c", 0)
    assert "Write a first schedule on http://c/new" in new
    assert "--task a.b " in new
    assert "--task YOUR.TASK " in next_steps("redis://x", [], None, 0)
    lived_in = next_steps("redis://x", ["a.b"], "http://c", 3)
    assert "first schedule" not in lived_in
    assert "duly schedule list" in lived_in


def test_the_demo_ends_with_a_paragraph_that_is_wrapped_once() -> None:
    stream = io.StringIO()
    running.next_steps(PlainNarrator(Stopped(), stream))
    lines = stream.getvalue().splitlines()[1:]
    assert len(lines) > 1
    # Each line could not have taken the next one's first word.
    assert all(len(line) + 1 + len(following.split()[0]) > 80 for line, following in pairwise(lines))


def test_ticks_passed_over_by_a_pause_are_told_from_those_that_policy_dropped(cli: Cli, bench: Bench) -> None:
    bench.add(schedule_id="docs", spec="@every:60000")
    bench.pass_time(5 * 60_000)
    bench.sweep()
    bench.store.schedules.pause("docs", "n")
    bench.pass_time(5 * 60_000)
    bench.store.schedules.resume("docs")
    bench.pass_time(5 * 60_000)
    bench.store.schedules.delete("docs")
    told = [line for line in map(squeezed, cli.text("events", "docs").splitlines()) if " skipped " in line]
    assert [line.partition(" skipped ")[2].rpartition(" ")[0] for line in told] == [
        "schedule deleted 5 ticks", "passed over by a pause 5 ticks", "missed-run policy 4 ticks",
    ]  # fmt: skip
    assert {event["reason"] for event in cli.json("events", "docs")["events"]} == {"accepted", "backlog_dropped"}
    for minute, said in ((2, "dropped by the missed-run policy with"), (7, "passed over by a pause with")):
        told_of = cli.json("occurrence", "docs", f"2026-01-01T00:{minute:02d}:00Z")
        assert told_of["explanation"].startswith(said)


def test_what_dropped_ticks_is_left_open_where_the_changes_do_not_reach_back() -> None:
    drop = EnqueueEvent("1-0", 5, "skipped", "backlog_dropped", None, 3, 3, 5, 1_000)

    def change(what: str, at_ms: int, passed_over: str = "3") -> ChangeEvent:
        return ChangeEvent("1-0", what, "cli", 1, {"passed_over": passed_over}, at_ms)

    assert cause_of(drop, []) is None
    assert cause_of(drop, [change("resumed", 1_001)]) is None
    assert cause_of(drop, [change("resumed", 1_001), change("paused", 999)]) is Cause.POLICY
    assert cause_of(drop, [change("resumed", 1_000), change("paused", 999)]) is Cause.PAUSE
    assert cause_of(drop, [change("resumed", 1_000, "4"), change("paused", 999)]) is Cause.POLICY


def test_doctor_warns_of_pickled_jobs_and_other_rq_workers_on_a_schedules_queue(fake: Backend, bench: Bench) -> None:
    assert examine_queues(bench.store).detail == "no schedule uses one yet"
    bench.add(schedule_id="docs", spec="@every:60000", queue="shared")
    bench.due()
    assert examine_queues(bench.store).status is Status.OK
    raw = fakeredis.FakeRedis(host=fake.client.connection_pool.connection_kwargs["host"])
    queue = Queue("shared", connection=raw)
    queue.enqueue("os.getpid")
    SimpleWorker([queue], connection=raw, name="up-1.1.a1b2c3").register_birth()
    SimpleWorker([Queue("other", connection=raw)], connection=raw, name="elsewhere").register_birth()
    found = examine_queues(bench.store)
    assert (found.status, found.detail) == (Status.WARN, "'shared' holds pickled jobs")
    SimpleWorker([queue], connection=raw, name="theirs").register_birth()
    assert "RQ workers that are not duly's listen on 'shared': theirs" in examine_queues(bench.store).detail
