"""One simulated world: the stage, the store on one fake server, the faults at its every call, and who watches it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import redis

from duly.common.settings import Settings
from duly.common.store import Store
from tests.simulator.fast_fake import Request, fresh
from tests.simulator.hands import Hands
from tests.simulator.internals import Records
from tests.simulator.network import Network
from tests.simulator.replies import Replies
from tests.simulator.seen import Everything
from tests.simulator.shadow import Shadow
from tests.simulator.stage import Actor, Process, Stage
from tests.simulator.ticks import TickBook
from tests.simulator.weather import Weather, draw_weather
from tests.simulator.witness import Witness
from tests.simulator.work import Journal, Work


class World:
    """Everything of one run. ``calm`` ends all faults."""

    def __init__(self, seed: int, start_ms: int, move_clock: Callable[[int], None]) -> None:
        self.rng = random.Random(seed)
        self.weather = draw_weather(self.rng)
        self.stage = Stage(self.rng, start_ms, move_clock)
        client = fresh()
        self.settings = Settings(
            duty_ttl_ms=1_000, redelivery_ms=400, queue_limit=self.weather.queue_limit, schedule_history=10_000
        )
        self.records = Records(client)
        self.records.load_scripts()
        self.journal = Journal()
        self.book = TickBook(self.stage, self.records)
        self.all = Everything()
        self.shadow = Shadow(self.stage, self.records, self.journal, self.all)
        self.replies = Replies(self.stage, self.records, self.all)
        self.hands = Hands(self.records)
        self.witness = Witness(self.stage, self.records, self.journal, self.all)
        self.work = Work(self.stage, self.journal, self.witness, self.misfortune)
        self.work.slow = self.weather.forgotten_leases or self.weather.forgotten_claims
        self.store = Store(client, self.settings, shebang=False)
        client.gate = self._gate
        self.published = 0
        for channel in (self.store.keys.wake_channel, self.store.keys.duty_channel):
            client.listen(channel, self._heard)
        self.outage_until_ms = 0
        self.network = Network(self.rng, self.records, self.all)
        self._tokens = 0

    def token(self) -> str:
        """A fresh token, the same in every run of the seed."""
        self._tokens += 1
        return f"{self._tokens:08x}-token"

    def _heard(self) -> None:
        self.published += 1

    def calm(self) -> None:
        self.weather = Weather(workers=self.weather.workers, queue_limit=self.weather.queue_limit)
        self.work.calm = True
        self.network.on_its_way.clear()
        self.outage_until_ms = 0

    def process(self, name: str, parent: Process | None = None) -> Process:
        return Process(self.stage, name, parent)

    def start(self, process: Process, work: Callable[[], None]) -> Actor:
        return self.stage.spawn(process, process.name, work, main=True)

    def _gate(self, command: tuple[Any, ...], request: Request) -> Any:
        """One request of the current actor: before it and after it anything may happen."""
        stage, weather, rng = self.stage, self.weather, self.rng
        actor = stage.current
        assert actor is not None
        self.misfortune()
        stage.point()
        if stage.now_ms < self.outage_until_ms or rng.random() < weather.lost_request:
            stage.say("the request is lost")
            raise redis.exceptions.ConnectionError("simulated")
        # Of owners most of all: what one said of its attempt arrives when the next owner is at work.
        often = self.network.how_often(command)
        if command[0] == "EVALSHA" and rng.random() < often * weather.late_request:
            stage.say("the request is on its way for long")
            self.network.send(stage.now_ms, actor.process.notes.get("read_ms"), command, request)
            if rng.random() < 0.6 and not actor.process.notes.get("person"):
                self._one_of_two(actor.process, 0.5).die("cut off")
                stage.point()
            raise redis.exceptions.TimeoutError("simulated")
        reply = self._carried_out(actor.process, command, request)
        self.misfortune()
        if rng.random() < 0.5:
            stage.point()
        # Of turns most of all: what they gave must be given again.
        if rng.random() < weather.lost_reply * (4 if self.records.script_of(command) == "turn" else 1):
            stage.say("the reply is lost")
            raise redis.exceptions.TimeoutError("simulated")
        return reply

    def deliver_late(self) -> None:
        """An actor's work: carry out, in the end, requests whose senders gave up on them."""
        process, stage = self.process("network"), self.stage
        while True:
            stage.sleep(50, lambda: self.network.is_here(stage.now_ms))
            for late in self.network.arrivals(stage.now_ms):
                process.notes["read_ms"] = late.read_ms
                self._carried_out(process, late.command, late.request)

    def _carried_out(self, process: Process, command: tuple[Any, ...], request: Request) -> Any:
        """The reply to one request, once whoever watches has seen it."""
        if self.weather.forgotten_claims:
            self.records.remember_before(command)
        reply = self._turned(process, command, request) if self.records.script_of(command) == "turn" else request()
        self._seen(process, command, reply)
        return reply

    def _turned(self, process: Process, command: tuple[Any, ...], request: Request) -> Any:
        """The same for a turn, as RQ sees it."""
        asked = self.records.call_of(command, None)
        assert asked is not None
        before = self.hands.before(asked)
        turn = replace(asked, reply=request())
        self.stage.say(f"turn {turn.arguments['number']} -> {turn.word} {turn.reply[1]}".rstrip())
        with self.stage.watched():
            self.hands.after(turn, before)
        return turn.reply

    def _seen(self, process: Process, command: tuple[Any, ...], reply: Any) -> None:
        calls = self.records.parts_of(command, reply)
        if not calls:
            if command[0] == "TIME":
                process.notes["read_ms"] = self.stage.now_ms
            self.stage.say(" ".join(str(each) for each in command[:2]))
            return
        for call in calls:
            named = (call.arguments[name] for name in ("schedule_id", "tick_ms", "attempt") if name in call.arguments)
            self.stage.say(f"{call.script} {' '.join(named)} -> {call.word}")
        with self.stage.watched():
            self.shadow.after(calls)
            for call in calls:
                self.replies.after(call)
                self.book.after(call, process)
        self.shadow.backlogs, self.shadow.asked = self.book.backlogs(), self.book.asked()

    def _one_of_two(self, process: Process, chance: float) -> Process:
        """The process itself, or, by chance, the one above it, which takes it along and can report nothing.

        Of a worker and its work-horse: the one below, which the worker survives and reports.
        """
        other: Process | None = process.notes.get("parent") or process.notes.get("horse")
        return other if other is not None and other.alive and self.rng.random() < chance else process

    def misfortune(self) -> None:
        """Death, or a pause, of the process that has the baton, or of the one above it."""
        stage, rng, weather = self.stage, self.rng, self.weather
        assert stage.current is not None
        process = stage.current.process
        if process.notes.get("person"):
            return
        draw = rng.random()
        if draw < weather.death:
            self._one_of_two(process, 0.4).die("killed")
            stage.point()
        elif draw < weather.death + weather.pause:
            ms = rng.choice([50, 300, 1_100, 1_500, 2_500])
            stopped = self._one_of_two(process, 0.3)
            stage.say(f"{stopped.name} is stopped for {ms} ms")
            stopped.paused_until_ms = stage.now_ms + ms
            stage.sleep(0)
