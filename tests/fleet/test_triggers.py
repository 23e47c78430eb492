"""When ticks are dispatched, what a running occurrence does to the next tick, and who shares a server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import pytest

from tests.fleet.harness import Fleet
from tests.fleet.processes import wait_until
from tests.fleet.tally import (
    Effect,
    assert_every_tick_is_accounted_for,
    assert_leases_pass_on_in_order,
    assert_no_attempt_has_two_effects,
    assert_nothing_is_early,
    audit,
    history,
)

pytestmark = pytest.mark.fleet

WORK_MS = 2_500
LATENESS_MS = 50


def overlapping(fleet: Fleet, schedule_id: str) -> list[tuple[Effect, Effect]]:
    """Pairs of runs of one schedule in which the later began before the earlier ended."""
    began = sorted(fleet.effects("began", schedule_id=schedule_id), key=lambda each: each.wall_ms)
    ended = {each.tick_ms: each for each in fleet.effects("ended", schedule_id=schedule_id)}
    return [
        (earlier, later)
        for earlier, later in pairwise(began)
        if earlier.tick_ms not in ended or ended[earlier.tick_ms].wall_ms > later.wall_ms
    ]


def test_a_running_occurrence_makes_the_next_tick_skip_wait_or_run_beside_it(fleet: Fleet) -> None:
    fleet.start("a", workers=6)
    fleet.wait_for_workers(*(f"a.{n}" for n in range(1, 7)))
    work = {"kwargs": {"after_ms": WORK_MS}, "missed_run_policy": "run_once"}
    first = {
        name: fleet.add(name, overlap=name.replace("-", "_"), **work).next_run_ms for name in ("skip", "buffer-one")
    }
    first["allow"] = fleet.add("allow", overlap="allow", **work).next_run_ms
    for name in first:
        wait_until(lambda name=name: len(fleet.effects("ended", schedule_id=name)) >= 2, f"{name} ended twice")
    fleet.settle(*first)

    for name, first_ms in first.items():
        assert first_ms is not None
        assert_every_tick_is_accounted_for(fleet.store, name, first_ms)
        assert_leases_pass_on_in_order(fleet.store, name, fleet.effects())
    outcomes = {name: Counter((e.outcome, e.reason) for e in audit(fleet.store, name)) for name in first}
    states = {name: Counter(o.state.value for o in fleet.occurrences(name)) for name in first}

    # skip: ticks during a run are skipped on record, and the next one after it runs.
    assert not overlapping(fleet, "skip")
    assert outcomes["skip"]["skipped", "overlap"] >= 2
    assert set(states["skip"]) == {"SUCCEEDED"}
    # buffer_one: the latest tick waits for the end; the ones before it coalesced.
    assert not overlapping(fleet, "buffer-one")
    assert set(outcomes["buffer-one"]) == {("enqueued", "accepted")}
    assert states["buffer-one"]["COALESCED"] >= 1
    began = fleet.effects("began", schedule_id="buffer-one")
    ended = fleet.effects("ended", schedule_id="buffer-one")
    assert began[1].wall_ms - ended[0].wall_ms < 1_000, "the buffered tick begins when the run ends"
    # A tick that comes due between the end and the next begin may still take the place of the one that waited.
    at_end, at_begin = (
        [e.tick_ms for e in audit(fleet.store, "buffer-one") if e.recorded_ms < effect.wall_ms]
        for effect in (ended[0], began[1])
    )
    assert began[1].tick_ms in {at_end[-1], at_begin[-1]}, "it is the latest that waited"
    # allow: they run beside each other.
    assert overlapping(fleet, "allow")
    assert set(outcomes["allow"]) == {("enqueued", "accepted")}
    assert states["allow"]["SUCCEEDED"] >= 2


def test_ticks_are_dispatched_within_moments_and_never_early(fleet: Fleet) -> None:
    fleet.start("a")
    fleet.wait_for_workers("a.1")
    fleet.wait_for_holder("a.s")
    fleet.add("light")
    fleet.add("jittered", jitter_window_ms=300)

    def lateness() -> list[int]:
        return [each.recorded_ms - each.tick_ms for each in audit(fleet.store, "light")]

    # Other work on this machine may delay some ticks; a scheduler that polled would delay most of them, always.
    wait_until(lambda: len(lateness()) >= 7 and median(lateness()[-7:]) <= LATENESS_MS, "ticks come within moments")
    wait_until(lambda: fleet.effects(schedule_id="light")[3:], "and run")
    assert min(lateness()) >= 0
    definition = fleet.store.schedules.get("jittered").definition
    for each in audit(fleet.store, "jittered"):
        assert each.recorded_ms >= definition.timetable.release_ms(each.tick_ms)
    for schedule_id in ("light", "jittered"):
        assert_nothing_is_early(fleet.store, schedule_id, fleet.effects())


def test_two_fleets_with_different_prefixes_do_not_meet(new_fleet: Callable[..., Fleet]) -> None:
    fleets = {name: new_fleet(name, prefix=name) for name in ("red", "blue")}
    for fleet in fleets.values():
        fleet.start("a")
    for fleet in fleets.values():
        fleet.wait_for_workers("a.1")
        fleet.wait_for_holder("a.s")
    first = {
        (name, schedule_id): fleet.add(
            schedule_id, overlap="allow", missed_run_policy="backfill", backfill_limit=100
        ).next_run_ms
        for name, fleet in fleets.items()
        for schedule_id in ("same", f"only-{name}")
    }
    for name, schedule_id in first:
        fleet = fleets[name]
        wait_until(
            lambda fleet=fleet, each=schedule_id: len(fleet.occurrences(each)) >= 5, f"{name}: {schedule_id} ticks"
        )
    for (name, schedule_id), first_ms in first.items():
        fleet = fleets[name]
        fleet.settle(schedule_id)
        assert first_ms is not None
        assert_every_tick_is_accounted_for(fleet.store, schedule_id, first_ms)
        assert_no_attempt_has_two_effects(fleet.effects())
        assert {each.state.value for each in fleet.occurrences(schedule_id)} == {"SUCCEEDED"}
        # No job of one fleet was taken by the other's workers, to be delivered again only when it was missed.
        assert not [each for each in history(fleet.store, schedule_id) if each.reason == "again"]
    assert not fleets["red"].effects(schedule_id="only-blue")
    assert not fleets["blue"].effects(schedule_id="only-red")
