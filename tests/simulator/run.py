"""One run of one seed: a storm of some hundred steps, a calm end, and the account of all of it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import time_machine

from duly.scheduler import orders, sweep
from duly.worker import performing
from tests.simulator import final
from tests.simulator.draw import draw_definition
from tests.simulator.fast_fake import fast_scripts
from tests.simulator.fleet import Fleet
from tests.simulator.kernel import simulated
from tests.simulator.people import Editors, Saboteur
from tests.simulator.reviewer import Reviewer
from tests.simulator.stage import Violation
from tests.simulator.world import World

START_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z
STORM_STEPS, CALM_STEPS = 260, 6_000
STORM_MS, CALM_MS = 12_000, 300_000
STUCK = "nothing is forgotten"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to: the violated promise, if any, and its trace, one line for each step."""

    seed: int
    violation: Violation | None
    trace: list[tuple[int, str, str]]

    def __str__(self) -> str:
        lines = [f"{at:>7} ms  {who:<12} {what}" for at, who, what in self.trace]
        said = str(self.violation) if self.violation else "all promises were kept"
        return "\n".join([f"seed {self.seed}", *lines, f"seed {self.seed}: {said}"])


def run(seed: int) -> Report:
    """Play one seed. Any other exception than a Violation is raised as it is, with the trace's end as a note."""
    with time_machine.travel(START_MS / 1000, tick=False) as traveller, _environment():
        world = World(seed, START_MS, lambda now_ms: traveller.move_to(now_ms / 1000))
        violation = None
        try:
            with simulated(world.stage, world.token, world.witness.fenced), world.work.registered():
                try:
                    _play(world)
                finally:
                    world.stage.end()
        except Violation as error:
            violation = error
        except BaseException as error:
            error.add_note(str(Report(seed, None, world.stage.trace[-40:])))
            raise
        return Report(seed, violation, world.stage.trace)


@contextmanager
def _environment() -> Iterator[None]:
    """Short parts and pages, so that a backlog of some ticks is cut, and one of some schedules takes several looks."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # what goes wrong here is meant to; formatting its tracebacks takes time
    collecting = gc.isenabled()
    gc.disable()
    try:
        muted = patch.object(performing, "_log_failure", _mute)
        parts, pages = patch.object(orders, "TICKS_PER_SCHEDULE", 2), patch.object(sweep, "PAGE", 2)
        with fast_scripts(), parts, pages, muted:
            yield
    finally:
        logging.disable(level)
        if collecting:
            gc.enable()


def _mute(*_: object) -> None:
    return None


def _play(world: World) -> None:
    stage = world.stage
    ids = [f"s{n}" for n in range(1, world.weather.schedules + 1)]
    editors, reviewer, fleet = Editors(world, ids), Reviewer(world), Fleet(world)

    def founder() -> None:
        for schedule_id in ids:
            world.store.schedules.add(draw_definition(world.rng, schedule_id))

    weather, world.weather = world.weather, type(world.weather)(workers=world.weather.workers)
    _person(world, "founder", founder)
    stage.play(200, stage.now_ms + 5_000, lambda: not stage.actors)
    world.weather = weather
    fleet.start()
    _person(world, "operator", fleet.operator)
    for n in range(weather.editors):
        _person(world, f"editor{n + 1}", editors.edit)
    _person(world, "reviewer", reviewer.review)
    _person(world, "saboteur", Saboteur(world).break_things)
    _person(world, "network", world.deliver_late)
    stage.play(STORM_STEPS, stage.now_ms + STORM_MS)

    world.calm()
    _end(world, {"editor1", "editor2", "reviewer", "saboteur", "network"})
    _person(world, "last", editors.resume_all)
    full = partial(final.full, world)
    if not stage.play(CALM_STEPS, stage.now_ms + CALM_MS, lambda: _gone(world, "last") and world.book.swept(full)):
        raise Violation(STUCK, "due ticks are left, and nobody sweeps them")
    world.book.audit()
    _person(world, "last", editors.pause_all)
    if not stage.play(CALM_STEPS, stage.now_ms + CALM_MS, lambda: _gone(world, "last") and final.settled(world)):
        final.check_nothing_stuck(world)
    final.check_records(world)
    if not final.answered(world):
        _person(world, "reviewer", reviewer.answer_all)
        if not stage.play(CALM_STEPS, stage.now_ms + CALM_MS, lambda: final.answered(world)):
            final.check_all_over(world)
        final.check_records(world)
    final.check_decisions(world)
    final.check_keys(world)


def _person(world: World, name: str, work: Callable[[], None]) -> None:
    process = world.process(name)
    process.notes["person"] = True
    world.start(process, work)


def _gone(world: World, name: str) -> bool:
    return not any(actor.process.name == name for actor in world.stage.actors)


def _end(world: World, names: set[str]) -> None:
    for actor in world.stage.actors:
        if actor.process.name in names:
            actor.process.die("the storm is over")
