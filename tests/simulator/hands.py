"""RQ's account of the jobs that workers have in hand, kept a second time: which job a turn may give, and to whom."""

from __future__ import annotations

from dataclasses import dataclass

from tests.simulator.internals import Call, Records
from tests.simulator.seen import IN_HAND
from tests.simulator.stage import Violation


@dataclass(frozen=True, slots=True)
class Before:
    """RQ's side as a turn found it: the queue, and which of its entries is the first whose job is there."""

    queued: list[str]
    first: int
    in_between: int
    """How often the job that its worker has in hand was on its way there."""


@dataclass(frozen=True, slots=True)
class Given:
    """A worker's latest turn: its number, and the job that it was given under this token, if any."""

    number: int = 0
    token: str = ""
    job_id: str = ""


class Hands:
    """Raises Violation when a turn gives a job that it may not give, or RQ's account of the jobs in hand is wrong."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._in_hand: dict[str, str] = {}
        """RQ's names of executions, and the worker of each."""
        self._latest: dict[str, Given] = {}
        """By worker."""

    def before(self, call: Call) -> Before:
        queued = self._records.queued()
        here = (at for at, job_id in enumerate(queued) if self._records.has_job(job_id))
        return Before(queued, next(here, len(queued)), self._records.in_between(call.arguments["given"]))

    def after(self, call: Call, before: Before) -> None:
        """Check one turn, whenever it arrives and whether or not somebody waits for its answer."""
        given = call.arguments
        taken = call.reply[2] if call.word in {"taken", "refused"} else ""
        if given["last_job"]:
            self._put_down(call, given["last_job"], given["last_execution"], taken)
        number, latest = int(given["number"]), self._latest.get(given["worker"], Given())
        if number > latest.number:
            if taken and given["token"] == latest.token and f"{latest.job_id}:{latest.token}" in self._in_hand:
                raise Violation(IN_HAND, f"{taken} was given, and {latest.job_id} before under the same token")
            self._latest[given["worker"]] = Given(number, given["token"], taken)
            left = self._left_by_new(call, taken, before)
        else:
            self._check_old(call, number, latest, taken)
            left = before.queued
        if self._records.queued() != left:
            said = f"{taken or 'nothing'} was given, and {self._records.queued()} is left of {before.queued}"
            raise Violation(IN_HAND, said)
        if taken:
            self._check_taken(call, taken)
        between = max(before.in_between - 1, 0) if number > latest.number else before.in_between
        if self._records.in_between(given["given"]) != between:
            raise Violation(IN_HAND, f"{given['given']} is in hand, and on its way to a hand")
        if self._records.wip() != self._in_hand.keys():
            differing = sorted(self._records.wip() ^ self._in_hand.keys())
            raise Violation(IN_HAND, f"RQ is wrong about {', '.join(differing)}")

    def _put_down(self, call: Call, job_id: str, token: str, taken: str) -> None:
        named = f"{job_id}:{token}"
        was_in_hand = self._in_hand.pop(named, None) is not None
        if self._records.execution(named, call.arguments["worker"]):
            raise Violation(IN_HAND, f"{named} has ended, and RQ has it in hand")
        if was_in_hand and taken != job_id and self._records.job_status(job_id) not in {None, "finished"}:
            raise Violation(IN_HAND, f"{named} has ended, and RQ says {self._records.job_status(job_id)}")

    def _left_by_new(self, call: Call, taken: str, before: Before) -> list[str]:
        """What a turn that comes for the first time must leave in the queue; it may give nothing but what is next."""
        given = call.arguments["given"]
        if taken:
            if given and taken != given:
                raise Violation(IN_HAND, f"{taken} was given, and {given} was in hand")
            if not given and before.queued[before.first : before.first + 1] != [taken]:
                raise Violation(IN_HAND, f"{taken} was given, and was not the first of {before.queued}")
            return before.queued if given else before.queued[before.first + 1 :]
        if call.word == "foreign":
            if self._records.is_ours(call.reply[2]):
                raise Violation(IN_HAND, f"nothing was given: {call.reply[2]} was left to RQ, and is ours")
            return before.queued if given else before.queued[before.first :]
        if given:
            raise Violation(IN_HAND, f"nothing was given, and {given} was in hand")
        if call.rest and before.first < len(before.queued):
            raise Violation(IN_HAND, f"nothing was given, and {before.queued} was there")
        return [] if call.rest else before.queued

    def _check_old(self, call: Call, number: int, latest: Given, taken: str) -> None:
        if number < latest.number:
            if taken:
                raise Violation(IN_HAND, f"{taken} was given in turn {number}, which was overtaken by {latest.number}")
            return
        named = f"{latest.job_id}:{latest.token}"
        due = latest.job_id if named in self._in_hand and self._records.is_ours(latest.job_id) else ""
        if taken != due:
            raise Violation(IN_HAND, f"'{taken}' was given, and '{due}' before in the same turn")

    def _check_taken(self, call: Call, taken: str) -> None:
        given, named = call.arguments, f"{taken}:{call.arguments['token']}"
        self._in_hand[named] = given["worker"]
        if self._records.execution(named, given["worker"]) != {"wip"}:
            raise Violation(IN_HAND, f"{taken} was given, and RQ does not know it")
        member = f"{call.reply[4]}@{call.reply[5]}"
        task = self._records.occurrence(member).get("task")
        known = f" {task} " in given["tasks"]
        if call.word == "refused" if known else call.word == "taken" and call.reply[7][0] == "acquired":
            raise Violation(IN_HAND, f"{member} was {call.word}, and its task {task} is {'' if known else 'un'}known")
