"""What the work itself tells: who works on what, who has an effect, and what a probe answered."""

from __future__ import annotations

from duly.worker.run import Run
from tests.simulator.internals import Records
from tests.simulator.seen import ONE_OWNER, UNKNOWN, Everything
from tests.simulator.stage import Process, Stage, Violation
from tests.simulator.work import Effect, Journal


class Witness:
    """Stands beside the work, which no store can do. Raises Violation when two are at it, or one that may not be."""

    def __init__(self, stage: Stage, records: Records, journal: Journal, everything: Everything) -> None:
        self._stage, self._records, self._journal, self._all = stage, records, journal, everything

    def _own(self) -> Process:
        assert self._stage.current is not None
        return self._stage.current.process

    def starts(self, run: Run) -> None:
        with self._stage.watched():
            self._starts(run)

    def _starts(self, run: Run) -> None:
        seen, own = self._all.of[f"{run.schedule_id}@{run.tick_ms}"], self._own()
        if own.owner not in seen.begun:
            raise Violation(ONE_OWNER, f"{own.owner} works on {seen.member}, and was not told that it may begin")
        for process in seen.acting.values():
            if process is not own and not process.doomed and not seen.forgotten:
                raise Violation(ONE_OWNER, f"{process.name} and {own.name} both work on {seen.member}")
        seen.acting[own.owner] = own
        self._stage.say(f"works on {seen.member}, attempt {run.attempt}")

    def ends(self, run: Run) -> None:
        self._all.of[f"{run.schedule_id}@{run.tick_ms}"].acting.pop(self._own().owner, None)

    def probed(self, idempotency_key: str, answer: str) -> None:
        self._journal.probed[self._own().owner] = answer
        self._stage.say(f"probe of {idempotency_key.rpartition(':')[0]}: {answer}")

    def acts(self, run: Run) -> None:
        """The effect happens, now and for good."""
        with self._stage.watched():
            self._acts(run)

    def _acts(self, run: Run) -> None:
        seen, own = self._all.of[f"{run.schedule_id}@{run.tick_ms}"], self._own().owner
        earlier = self._journal.of(seen.member)
        self._stage.say(f"EFFECT of {seen.member}, attempt {run.attempt}, token {run.fencing_token}")
        self._journal.effects.append(Effect(seen.member, run.attempt, own, self._stage.now_ms))
        if any(each.owner == own for each in earlier):
            raise Violation(ONE_OWNER, f"attempt {run.attempt} of {seen.member} had its effect twice")
        if seen.forgotten:
            return
        record, lease = self._records.occurrence(seen.member), self._records.lease(seen.member)
        if lease is None or lease != record["lease_id"] or seen.owner != own or record["state"] != "RUNNING":
            raise Violation(ONE_OWNER, f"{seen.member} had an effect of {own}, which does not own it")
        if earlier and record["task"] != "sim.idempotent":
            raise Violation(UNKNOWN, f"{seen.member} had a second effect, and is not idempotent")

    def fenced(self, process: Process) -> None:
        """The kernel's timer of this process was set: it must end the process before its lease can pass on."""
        with self._stage.watched():
            self._fenced(process)

    def _fenced(self, process: Process) -> None:
        for seen in self._all.of.values():
            record = self._records.occurrence(seen.member) if seen.state in {"LEASED", "RUNNING"} else {}
            if record.get("lease_owner") != process.owner or process.fence_ms is None:
                continue
            if process.notes.get("works_on", seen.member) != seen.member:
                continue  # a request that came late has taken another one for the same owner, and nobody works on that
            at_once = process.fence_ms < self._stage.now_ms + 1
            if process.fence_ms >= int(record["lease_expires_ms"]) and not at_once:
                raise Violation(ONE_OWNER, f"{process.name} may live on when its lease of {seen.member} has ended")
