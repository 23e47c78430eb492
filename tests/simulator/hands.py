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


class Hands:
    """Raises Violation when a turn gives a job that it may not give, or RQ's account of the jobs in hand is wrong."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._in_hand: dict[str, str] = {}
        """RQ's names of executions, and the worker of each."""
        self._given: dict[str, set[str]] = {}
        """By token: the jobs that were given out under it."""
        self._last: dict[str, str] = {}
        """By worker: the token of its last job, which is the one that it may ask for again."""

    def before(self, call: Call) -> Before:
        queued = self._records.queued()
        here = (at for at, job_id in enumerate(queued) if self._records.has_job(job_id))
        return Before(queued, next(here, len(queued)), self._records.in_between(call.arguments["given"]))

    def after(self, call: Call, before: Before, *, late: bool) -> None:
        """Check one turn; ``late``: nobody waits for it any more."""
        given = call.arguments
        taken = call.reply[2] if call.word in {"taken", "refused"} else ""
        if given["last_job"]:
            self._put_down(call, given["last_job"], given["last_execution"], taken)
        if taken:
            self._took(call, taken, before, late)
        else:
            self._found_nothing(call, before, late)
        if before.in_between and self._records.in_between(given["given"]) != before.in_between - 1:
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

    def _took(self, call: Call, job_id: str, before: Before, late: bool) -> None:
        given, token = call.arguments, call.arguments["token"]
        earlier = self._still_given(call)
        left = self._records.queued()
        if earlier and (given["again"] == "1" or not late):
            if job_id not in earlier:
                raise Violation(IN_HAND, f"{job_id} was given, and before under the same token {', '.join(earlier)}")
            expected = before.queued
        elif given["given"]:
            if job_id != given["given"]:
                raise Violation(IN_HAND, f"{job_id} was given, and {given['given']} was in hand")
            expected = before.queued
        else:
            if before.queued[before.first : before.first + 1] != [job_id]:
                raise Violation(IN_HAND, f"{job_id} was given, and was not the first of {before.queued}")
            expected = before.queued[before.first + 1 :]
        if left != expected:
            raise Violation(IN_HAND, f"{job_id} was given, and {left} is left of {before.queued}")
        self._in_hand[f"{job_id}:{token}"] = given["worker"]
        self._given.setdefault(token, set()).add(job_id)
        self._last[given["worker"]] = token
        if self._records.execution(f"{job_id}:{token}", given["worker"]) != {"wip"}:
            raise Violation(IN_HAND, f"{job_id} was given, and RQ does not know it")
        self._known_task(call)

    def _still_given(self, call: Call) -> list[str]:
        token = call.arguments["token"]
        if self._last.get(call.arguments["worker"]) != token:
            return []  # one that came late was given another one since
        return sorted(each for each in self._given.get(token, ()) if f"{each}:{token}" in self._in_hand)

    def _known_task(self, call: Call) -> None:
        member = f"{call.reply[4]}@{call.reply[5]}"
        task = self._records.occurrence(member).get("task")
        known = f" {task} " in call.arguments["tasks"]
        if call.word == "refused" if known else call.word == "taken" and call.reply[7][0] == "acquired":
            raise Violation(IN_HAND, f"{member} was {call.word}, and its task {task} is {'' if known else 'un'}known")

    def _found_nothing(self, call: Call, before: Before, late: bool) -> None:
        left = self._records.queued()
        earlier = [each for each in self._still_given(call) if self._records.is_ours(each)]  # and is there still
        if earlier and not late:
            raise Violation(IN_HAND, f"nothing was given, and before under the same token {', '.join(earlier)}")
        if late and call.word == "empty" and self._given.get(call.arguments["token"]) and left == before.queued:
            return  # what it was given is over
        if call.word == "foreign":
            if self._records.is_ours(call.reply[2]):
                raise Violation(IN_HAND, f"{call.reply[2]} was left to RQ, and is ours")
            in_hand = call.arguments["given"] or call.reply[2] in self._given.get(call.arguments["token"], ())
            expected = before.queued if in_hand else before.queued[before.first :]
        else:
            expected = [] if call.rest else before.queued
        if left != expected:
            raise Violation(IN_HAND, f"nothing was given, and {left} is left of {before.queued}")
