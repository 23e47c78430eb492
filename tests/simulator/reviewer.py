"""The reviewer, who knows the truth, and now and then speaks too late, twice, or for somebody else."""

from __future__ import annotations

from dataclasses import dataclass

from duly.common.identity import Occurrence
from duly.common.records.occurrence import OccurrenceRecord
from duly.common.store.holds import Resolution
from tests.simulator.people import tried
from tests.simulator.world import World


@dataclass(slots=True)
class Said:
    """A resolution, and the version that was looked at for it until the store has taken it."""

    occurrence: Occurrence
    outcome: Resolution
    evidence: str
    extra: int
    seen: int | None


class Reviewer:
    """Each public method is one actor's work."""

    def __init__(self, world: World) -> None:
        self._world, self._rng, self._stage, self._holds = world, world.rng, world.stage, world.store.holds
        self._said: list[Said] = []

    def review(self) -> None:
        """Look at what waits, and answer some of it; sometimes say again what was said before."""
        while True:
            self._stage.sleep(self._rng.choice([200, 500, 1_200]))
            tried(self._world, self._repeat if self._said and self._rng.random() < 0.3 else self._answer_one)

    def answer_all(self) -> None:
        """In the end: until nothing waits for an answer."""
        while True:
            tried(self._world, self._answer_everything)
            self._stage.sleep(200)

    def _answer_everything(self) -> None:
        for record in self._holds.page(100)[0]:
            if record.awaits_approval:
                self._holds.approve(record.occurrence, record.review_owner)
            else:
                outcome = self._truth(record.occurrence)
                extra = int(outcome is Resolution.NO_COMMITTED_RESULT)
                self._holds.resolve(record.occurrence, outcome, "ann", self._evidence(), extra, seen=record.version)

    def _answer_one(self) -> None:
        waiting, _ = self._holds.page(6)
        if not waiting:
            return
        record = self._rng.choice(waiting)
        if not record.awaits_approval:
            self._resolve(record)
        elif self._rng.random() < 0.6:
            self._holds.approve(record.occurrence, "bob" if self._rng.random() < 0.1 else "ann")
        elif self._rng.random() < 0.3:
            self._holds.resolve(record.occurrence, Resolution.ABANDONED, "ann", self._evidence(), seen=record.version)

    def _resolve(self, record: OccurrenceRecord) -> None:
        truth = self._truth(record.occurrence)
        outcome = Resolution.ABANDONED if self._rng.random() < 0.15 else truth
        extra = self._rng.choice([0, 1]) if outcome is Resolution.NO_COMMITTED_RESULT else 0
        seen = record.version - (self._rng.random() < 0.15)
        if self._rng.random() < 0.2:
            self._stage.sleep(self._rng.choice([100, 1_000]))  # it may have changed when the answer comes
        said = Said(record.occurrence, outcome, self._evidence(), extra, seen)
        self._said.append(said)
        self._say(said)

    def _say(self, said: Said) -> None:
        self._holds.resolve(said.occurrence, said.outcome, "ann", said.evidence, said.extra, seen=said.seen)
        said.seen = None  # taken: from now on the store knows it by its words

    def _repeat(self) -> None:
        held = [said for said in self._said if self._world.all.of[str(said.occurrence)].state == "HELD"]
        said = self._rng.choice(held or self._said[-3:])
        self._stage.say(f"says again of {said.occurrence}: {said.outcome}")
        self._say(said)

    def _truth(self, occurrence: Occurrence) -> Resolution:
        done = self._world.journal.of(str(occurrence))
        return Resolution.COMMITTED if done else Resolution.NO_COMMITTED_RESULT

    def _evidence(self) -> str:
        return f"seen at {self._stage.now_ms}, {self._rng.randint(1, 10**6)}"
