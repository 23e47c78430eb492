"""Actors that take turns: threads of which only the one with the baton runs, and a clock that only they move.

Everything is decided by one seeded generator: the same seed gives the same interleaving, step by step. A process is
one or more actors that live, stop and die together; what a dead one would have done is never done.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Condition = Callable[[], bool]
LOOK_EVERY = 20
"""So many steps apart it is asked whether what a part of the run waits for is so, while somebody is busy still."""


class Died(BaseException):
    """Raised in an actor whose process has died, until nothing is left of its calls."""


class Over(BaseException):
    """Raised in every actor when the run has ended."""


class Violation(Exception):
    """A promise was broken; ``promise`` names it."""

    def __init__(self, promise: str, text: str) -> None:
        super().__init__(f"{promise}: {text}")
        self.promise = promise


class Process:
    """What lives and dies together. ``fence_ms``: when the kernel's timer ends it; ``children`` die with it."""

    def __init__(self, stage: Stage, name: str, parent: Process | None = None) -> None:
        self.stage, self.name = stage, name
        self.owner = name
        """The name under which it owns what it works on."""
        self.pid = len(stage.processes) + 1
        stage.processes[self.pid] = self
        self.alive = True
        self.paused_until_ms = 0
        self.fence_ms: float | None = None
        self.signals: dict[int, Callable[..., Any]] = {}
        self.pending: int | None = None
        self.main: Actor | None = None
        self.children: list[Process] = []
        self.notes: dict[str, Any] = {}
        if parent:
            parent.children.append(self)

    @property
    def doomed(self) -> bool:
        """Whether it can do nothing more: it is dead, or will be before it runs again."""
        return not self.alive or (self.fence_ms is not None and self.stage.now_ms >= self.fence_ms)

    def die(self, why: str) -> None:
        if self.alive:
            self.alive = False
            self.stage.say(f"{self.name} dies: {why}")
            for child in self.children:
                child.die("with its parent")


class Actor:
    """One thread of a process. It runs only while it has the baton."""

    def __init__(self, stage: Stage, process: Process, name: str, work: Callable[[], None]) -> None:
        self.stage, self.process, self.name = stage, process, name
        self.wake_ms: float = 0
        self.until: Condition | None = None
        self.ended = False
        self._work = work
        self.baton = _held_lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def ready(self, now_ms: int) -> bool:
        process = self.process
        if process.paused_until_ms > now_ms or self.ended:
            return False
        fence_ms = process.fence_ms
        if self.wake_ms <= now_ms or (fence_ms is not None and fence_ms <= now_ms):
            return True
        return self.until is not None and self.until()

    @property
    def next_ms(self) -> float:
        """When it runs again by itself; a timer of the kernel wakes also one that sleeps."""
        fence_ms = self.process.fence_ms
        wake_ms = self.wake_ms if fence_ms is None else min(self.wake_ms, fence_ms)
        return max(wake_ms, self.process.paused_until_ms)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        self.baton.acquire()
        try:
            self.stage.come_back(self)
            self._work()
        except (Died, Over):
            pass
        except Violation as violation:
            self.stage.fail(violation)
        except BaseException as error:  # noqa: BLE001 - shown with the seed by the run
            self.stage.fail(error)
        self.ended = True
        if self is self.process.main:
            self.process.alive = False
        self.stage.leave(self)

    def join(self) -> None:
        self._thread.join()


def _held_lock() -> threading.Lock:
    """A lock that whoever waits for it gets when another releases it: the cheapest way to pass a turn on."""
    lock = threading.Lock()
    lock.acquire()
    return lock


class Stage:
    """The actors of one run, whose turn it is, and what time it is."""

    def __init__(self, rng: random.Random, start_ms: int, move_clock: Callable[[int], None]) -> None:
        self.rng, self.now_ms, self._move_clock = rng, start_ms, move_clock
        self.start_ms = start_ms
        self.actors: list[Actor] = []
        self.processes: dict[int, Process] = {}
        self.current: Actor | None = None
        self.steps = 0
        self.trace: list[tuple[int, str, str]] = []
        self.failure: BaseException | None = None
        self.over = False
        self.wakes = 0
        self._limit = 0
        self._deadline_ms: float = 0
        self._quiet: Condition | None = None
        self._became_quiet = False
        self._director = _held_lock()

    # What the director does.
    def spawn(self, process: Process, name: str, work: Callable[[], None], *, main: bool = False) -> Actor:
        actor = Actor(self, process, name, work)
        if main:
            process.main = actor
        self.actors.append(actor)
        actor.start()
        return actor

    def play(self, steps: int, deadline_ms: float, quiet: Condition | None = None) -> bool:
        """Let the actors act for so many steps, until the deadline, or until ``quiet``; True when it became quiet."""
        self._limit, self._deadline_ms, self._quiet = self.steps + steps, deadline_ms, quiet
        self._became_quiet = False
        chosen = self._choose()
        if chosen is not None:
            self._give(chosen)
            self._director.acquire()
        if self.failure:
            raise self.failure
        return self._became_quiet

    def end(self) -> None:
        """End every actor and wait for its thread."""
        self.over = True
        for actor in list(self.actors):
            while not actor.ended:
                self._give(actor)
                self._director.acquire()
            actor.join()

    def advance(self, ms: int) -> None:
        if ms > 0:
            self.now_ms += ms
            self._move_clock(self.now_ms)

    def say(self, what: str) -> None:
        self.trace.append((self.now_ms - self.start_ms, self.current.name if self.current else "-", what))

    # What actors call.
    def point(self) -> None:
        """Others may act here, and the caller's process may be stopped or ended."""
        actor = self.current
        assert actor is not None
        self._check(actor)
        self.steps += 1
        self.advance(self._pace())
        self._pass_on(actor)

    def sleep(self, ms: float, until: Condition | None = None) -> None:
        """Wait so long, or until the condition holds."""
        actor = self.current
        assert actor is not None
        self._check(actor)
        actor.wake_ms, actor.until = self.now_ms + ms, until
        self._pass_on(actor)
        actor.wake_ms, actor.until = 0, None

    def fail(self, error: BaseException) -> None:
        self.failure = self.failure or error

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Inside the block a Violation ends the run, whatever the code around it does with exceptions."""
        try:
            yield
        except Violation as violation:
            self.fail(violation)
            raise

    def come_back(self, actor: Actor) -> None:
        """The actor has the baton: what a kernel would do to its process first is done."""
        self.current = actor
        self._check(actor)

    def leave(self, actor: Actor) -> None:
        self.actors.remove(actor)
        self._hand_over(self._choose())

    def _pass_on(self, actor: Actor) -> None:
        chosen = self._choose()
        if chosen is actor:
            self._check(actor)
            return
        self._hand_over(chosen)
        actor.baton.acquire()
        self.come_back(actor)

    def _hand_over(self, chosen: Actor | None) -> None:
        if chosen is None:
            self.current = None
            self._director.release()
        else:
            self._give(chosen)

    def _give(self, actor: Actor) -> None:
        self.current = actor
        actor.baton.release()

    def _check(self, actor: Actor) -> None:
        if self.over or self.failure:
            raise Over
        process = actor.process
        if process.alive and process.fence_ms is not None and self.now_ms >= process.fence_ms:
            process.die("its lease is over")
        if not process.alive:
            raise Died
        if process.pending is not None and actor is process.main:
            number, process.pending = process.pending, None
            process.signals[number](number, None)

    def _choose(self) -> Actor | None:
        if self.over or self.failure:
            return None
        for actor in self.actors:
            if not actor.process.alive:
                return actor  # nothing but its end is left of it
        if self.steps >= self._limit or self.now_ms >= self._deadline_ms:
            return None
        if self._quiet and self.steps % LOOK_EVERY == 0 and self._is_quiet():
            return None
        while True:
            ready = [actor for actor in self.actors if actor.ready(self.now_ms)]
            if ready:
                return ready[0] if len(ready) == 1 else self.rng.choice(ready)
            if self._is_quiet():
                return None
            instants = [actor.next_ms for actor in self.actors]
            soonest = min(instants, default=self._deadline_ms)
            if soonest >= self._deadline_ms:
                return None
            self.advance(max(int(-(-soonest // 1)) - self.now_ms, 1))

    def _is_quiet(self) -> bool:
        self._became_quiet = self._quiet is not None and self._quiet()
        return self._became_quiet

    def _pace(self) -> int:
        draw = self.rng.random()
        if draw < 0.6:
            return 0
        if draw < 0.8:
            return 1
        return self.rng.randint(2, 25) if draw < 0.97 else self.rng.randint(40, 160)
