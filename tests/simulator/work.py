"""The tasks of the simulated fleet, and the journal of their effects, which no store knows of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from duly.common.records.occurrence import Effects
from duly.worker import tasks
from duly.worker.run import OutcomeUnknown, Run, current_run
from tests.simulator.stage import Stage


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that happened in the world outside, for good."""

    member: str
    attempt: int
    owner: str
    """The process that did it: it is never two."""
    at_ms: int


@dataclass(slots=True)
class Journal:
    """All effects, in order, and what else only the world knows."""

    effects: list[Effect] = field(default_factory=list)
    probed: dict[str, str] = field(default_factory=dict)
    """By owner: what the probe answered to its attempt."""

    def of(self, member: str) -> list[Effect]:
        return [each for each in self.effects if each.member == member]

    def by(self, owner: str) -> bool:
        return any(each.owner == owner for each in self.effects)


class Work:
    """Registers the tasks; ``watch`` is told when work starts, acts and ends."""

    def __init__(self, stage: Stage, journal: Journal, watch: Any, misfortune: Callable[[], None]) -> None:
        self._stage, self._journal, self._watch, self._misfortune = stage, journal, watch, misfortune
        self.calm = False
        self.slow = False

    @contextmanager
    def registered(self) -> Iterator[None]:
        known = {
            f"sim.{effects.value}": tasks.Task(
                f"sim.{effects.value}", self._do, effects, self._probe if effects is Effects.GUARDED else None
            )
            for effects in Effects
        }
        with patch.object(tasks, "_tasks", known):
            yield

    def _do(self) -> None:
        run = current_run()
        self._watch.starts(run)
        try:
            self._course(run)()
        finally:
            self._watch.ends(run)

    def _course(self, run: Run) -> Callable[[], None]:
        draw = 0.0 if self.calm else self._stage.rng.random()
        if self.slow and not self.calm and self._stage.rng.random() < 0.5:
            draw = 0.62 + 0.38 * draw
        courses: list[tuple[float, Callable[[Run], None]]] = [
            (0.38, self._plain),
            (0.50, self._failing),
            (0.56, self._unknown_before),
            (0.62, self._unknown_after),
            (0.76, self._slow_before),
            (0.88, self._slow_after),
            (1.0, self._checking),
        ]
        chosen = next(course for upto, course in courses if draw < upto)
        return lambda: chosen(run)

    def _act(self, run: Run) -> None:
        self._misfortune()
        self._stage.point()
        self._watch.acts(run)

    def _plain(self, run: Run) -> None:
        self._act(run)
        assert self._stage.current is not None
        run.set_result_ref(f"result of {self._stage.current.process.owner}")

    def _failing(self, run: Run) -> None:
        self._stage.point()
        raise ValueError("no effect")

    def _unknown_before(self, run: Run) -> None:
        raise OutcomeUnknown("before the effect")

    def _unknown_after(self, run: Run) -> None:
        self._act(run)
        raise OutcomeUnknown("after the effect")

    def _slow_before(self, run: Run) -> None:
        self._stage.sleep(self._stage.rng.choice([100, 600, 2_000]))
        self._act(run)

    def _slow_after(self, run: Run) -> None:
        self._act(run)
        self._stage.sleep(self._stage.rng.choice([100, 600, 2_000]))

    def _checking(self, run: Run) -> None:
        for _ in range(self._stage.rng.randint(1, 3)):
            self._stage.sleep(self._stage.rng.choice([10, 400]))
            run.check_lease()
        self._act(run)

    def _probe(self, idempotency_key: str) -> str:
        self._stage.point()
        draw = 1.0 if self.calm else self._stage.rng.random()
        if 0.3 < draw < 0.6:
            self._stage.sleep(1_000 * draw)
        if draw < 0.1:
            raise RuntimeError("the probe cannot tell")
        done = self._journal.of(idempotency_key.rpartition(":")[0])
        answer = "UNKNOWN" if draw < 0.2 else ("COMMITTED" if done else "NO_COMMITTED_RESULT")
        self._watch.probed(idempotency_key, answer)
        return answer
