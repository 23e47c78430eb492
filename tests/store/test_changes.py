"""Who changed what of a schedule is on record, written by the script that changes it."""

from __future__ import annotations

import pytest

from duly.common.errors import InvalidField, Refused
from duly.common.store.holds import Resolution
from tests.store.conftest import Bench, definition


def told(bench: Bench, schedule_id: str = "docs") -> list[tuple[str, str, int | None]]:
    """(what, actor, revision), oldest first."""
    return [(e.what, e.actor, e.revision) for e in bench.store.trails.changes(schedule_id, 100)[0]][::-1]


def test_every_change_names_who_asked_and_the_revision_it_made(bench: Bench) -> None:
    ann, bob = bench.store.acting_as("cli ann@host"), bench.store.acting_as("api")
    ann.schedules.add(definition(spec="@every:1000"))
    bob.schedules.update("docs", {"retry_budget": 5})
    ann.schedules.pause("docs", "a deploy")
    bob.schedules.resume("docs")
    run = ann.manual.run("docs", "key").occurrence
    ann.manual.run("docs", "key")
    bench.store.attempts.relinquish(bench.running(run), "timeout")
    bob.holds.resolve(run, Resolution.ABANDONED, "bob", "ticket 7")
    bob.holds.resolve(run, Resolution.ABANDONED, "bob", "ticket 7")
    ann.schedules.delete("docs")
    assert told(bench) == [
        ("created", "cli ann@host", 1),
        ("updated", "api", 2),
        ("paused", "cli ann@host", 3),
        ("resumed", "api", 4),
        ("run", "cli ann@host", 4),
        ("resolved", "api", 4),
        ("deleted", "cli ann@host", 4),
    ]


def test_an_approval_and_a_release_are_changes_too(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000", approval="required")
    occurrence = fake_bench.due()
    fake_bench.store.acting_as("console").holds.approve(occurrence, "ann")
    fake_bench.store.acting_as("console").schedules.release("docs")
    approved, released = fake_bench.store.trails.changes("docs", 100)[0][1::-1]
    assert (approved.what, approved.actor) == ("approved", "console")
    assert approved.detail == {"tick_ms": str(occurrence.tick_ms), "by": "ann"}
    assert released.what == "released"


def test_an_edit_says_which_fields_changed_and_never_what_the_task_is_called_with(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    bench.store.schedules.update("docs", {"spec": "@every:2000", "kwargs": {"token": "sekret"}, "args": ["sekret"]})
    change = bench.store.trails.changes("docs")[0][0]
    assert change.detail == {"fields": {"spec": ["@every:1000", "@every:2000"], "args": None, "kwargs": None}}


def test_a_pause_that_ends_by_itself_is_the_sweep_s_change(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    fake_bench.store.schedules.pause("docs", "why", fake_bench.store.schedules.now_ms() + 500)
    fake_bench.pass_time(600)
    fake_bench.sweep()
    assert told(fake_bench)[-1][:2] == ("resumed", "sweep")


def test_a_change_that_was_refused_is_none(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    with pytest.raises(Refused):
        bench.store.schedules.resume("docs")
    assert [what for what, _, _ in told(bench)] == ["created"]


@pytest.mark.parametrize("actor", ["", "a\nb", "x" * 201])
def test_an_actor_is_one_line(bench: Bench, actor: str) -> None:
    with pytest.raises(InvalidField):
        bench.store.acting_as(actor)


def test_the_newest_hundred_changes_are_kept_and_come_in_pages(fake_bench: Bench) -> None:
    fake_bench.add(spec="@every:1000")
    for n in range(120):
        fake_bench.store.schedules.update("docs", {"review_owner": f"owner {n}"})
    first, cursor = fake_bench.store.trails.changes("docs", 60)
    rest, end = fake_bench.store.trails.changes("docs", 60, cursor)
    assert [e.revision for e in first + rest] == list(range(121, 21, -1))
    assert end is None


def test_a_key_that_comes_with_another_request_is_refused(bench: Bench) -> None:
    bench.add(spec="@every:1000")
    made = bench.store.manual.run("docs", "key", "{}")
    assert bench.store.manual.run("docs", "key", "{}").occurrence == made.occurrence
    with pytest.raises(Refused, match="another request") as refusal:
        bench.store.manual.run("docs", "key", '{"other": 1}')
    assert refusal.value.code == "idempotency_conflict"
