"""Requests that are on their way for long, and arrive when nobody waits for them any more."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.simulator.fast_fake import Request
from tests.simulator.internals import Records
from tests.simulator.seen import Everything

OF_OWNERS = ("complete", "fail", "relinquish", "hold", "hand_back", "commit_by_probe")
OFTEN = {**dict.fromkeys(OF_OWNERS, 10), "renew": 5}
"""How much more often a script's requests are late than any other's."""

HARMFUL = ("RUNNING", "RUNNING", "LEASED", "SUCCEEDED")
"""How far the next owner has come when a late request does most harm."""


@dataclass(slots=True)
class Late:
    """One request; it comes at ``came_ms``, or before, as soon as it does most harm (``until``)."""

    came_ms: int
    read_ms: int | None
    command: tuple[Any, ...]
    request: Request
    until: Callable[[], bool]


@dataclass(slots=True)
class Network:
    """What is on its way."""

    rng: random.Random
    records: Records
    everything: Everything
    on_its_way: list[Late] = field(default_factory=list)

    def how_often(self, command: tuple[Any, ...]) -> int:
        script = self.records.script_of(command)
        if script == "turn":
            script = self.records.parts_of(command, None)[0].script
        return OFTEN.get(script or "", 1)

    def send(self, now_ms: int, read_ms: int | None, command: tuple[Any, ...], request: Request) -> None:
        came_ms, until = now_ms + self.rng.choice([20, 150, 400, 700, 1_200, 2_500]), _never
        call = next(iter(self.records.parts_of(command, None)), None)
        if call and "token" in call.arguments and "tick_ms" in call.arguments and self.rng.random() < 0.6:
            member = f"{call.arguments['schedule_id']}@{call.arguments['tick_ms']}"
            until = self._next_owner_is_at_it(member, call.arguments["token"], self.rng.choice(HARMFUL))
            came_ms = now_ms + 4_000
        self.on_its_way.append(Late(came_ms, read_ms, command, request, until))

    def _next_owner_is_at_it(self, member: str, token: str, state: str) -> Callable[[], bool]:
        def is_so() -> bool:
            seen = self.everything.of.get(member)
            return seen is not None and seen.lease != token and seen.state == state

        return is_so

    def is_here(self, now_ms: int) -> bool:
        return any(late.came_ms <= now_ms or late.until() for late in self.on_its_way)

    def arrivals(self, now_ms: int) -> Iterator[Late]:
        """Each request whose time has come, once."""
        for late in [each for each in self.on_its_way if each.came_ms <= now_ms or each.until()]:
            self.on_its_way.remove(late)
            yield late


def _never() -> bool:
    return False
