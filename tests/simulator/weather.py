"""What goes wrong in a run, and how often: drawn anew for each, so that each run has its own mixture."""

from __future__ import annotations

import random
from dataclasses import dataclass

OFTEN, RARELY, NEVER = 0.03, 0.008, 0.0


@dataclass(slots=True)
class Weather:
    """Chances at each store call, and whether an actor is about. `calm` is the weather of the quiet end."""

    death: float = 0.0
    pause: float = 0.0
    lost_request: float = 0.0
    lost_reply: float = 0.0
    late_request: float = 0.0
    stops: float = 0.0
    vanishing_jobs: bool = False
    doubled_jobs: bool = False
    forgotten_leases: bool = False
    forgotten_claims: bool = False
    foreign_leases: bool = False
    outages: bool = False
    rewritten_jobs: bool = False
    ignorant_workers: bool = False
    editors: int = 0
    workers: int = 2
    candidates: int = 1
    queue_limit: int = 100_000
    schedules: int = 3


def draw_weather(rng: random.Random) -> Weather:
    """The weather of one run: a bit of everything, or much of what happens to owners of few occurrences."""
    return _of_owners(rng) if rng.random() < 0.3 else _of_everything(rng)


def _of_owners(rng: random.Random) -> Weather:
    return Weather(
        death=rng.choice([NEVER, RARELY]),
        pause=rng.choice([NEVER, OFTEN]),
        lost_reply=rng.choice([NEVER, RARELY]),
        late_request=rng.choice([RARELY, OFTEN]),
        doubled_jobs=rng.random() < 0.3,
        forgotten_leases=rng.random() < 0.15,
        forgotten_claims=rng.random() < 0.4,
        rewritten_jobs=rng.random() < 0.25,
        workers=rng.randint(2, 4),
        candidates=rng.randint(1, 2),
        schedules=rng.randint(1, 2),
    )


def _of_everything(rng: random.Random) -> Weather:

    def chance() -> float:
        return rng.choice([NEVER, RARELY, OFTEN])

    return Weather(
        death=chance(),
        pause=chance(),
        lost_request=chance(),
        lost_reply=chance(),
        late_request=chance(),
        stops=rng.choice([NEVER, OFTEN]),
        vanishing_jobs=rng.random() < 0.4,
        doubled_jobs=rng.random() < 0.5,
        forgotten_leases=rng.random() < 0.2,
        forgotten_claims=rng.random() < 0.2,
        foreign_leases=rng.random() < 0.1,
        outages=rng.random() < 0.15,
        rewritten_jobs=rng.random() < 0.25,
        ignorant_workers=rng.random() < 0.15,
        editors=rng.choice([0, 1, 1, 2]),
        workers=rng.choice([1, 1, 2, 3, 4]),
        candidates=rng.randint(1, 3),
        queue_limit=rng.choice([100_000, 100_000, 100_000, 3]),
        schedules=rng.randint(2, 4),
    )
