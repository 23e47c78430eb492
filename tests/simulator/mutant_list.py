"""All mutants, and the guards that cannot be missed, with the reason."""

from __future__ import annotations

from tests.simulator import lua_mutants, python_mutants
from tests.simulator.known_seeds import SEEDS
from tests.simulator.mutants import Mutant, put_in
from tests.simulator.run import run

RARE = {
    "begin: the version of the evidence": "seldom: a late result must come between a claim and its `begin`",
    "commit_by_probe: whose lease it is": "seldom in some hundred seeds: a lease must be lost inside a probe",
    "fail: whose lease it is": "seldom: a failure must be reported late, while the next owner is at work",
    "contested: the result beside a hold": "seldom: a forgotten owner must report while its occurrence is held already",
    "attend: a lease that still holds": "seldom: the look must come just before a lease is renewed",
    "turn: an old question": "seldom: it must come when its job is over and the worker was given no other",
    "dispatch: the revision": "seldom: an edit must come between a survey and its dispatch, and change what is due",
    "complete: a late result makes nothing unknown": "seldom: it must come between two attempts of its occurrence",
    "resolve: a hold that is over": "seldom: the version that was looked at is a second net",
    "resolve: only the last one counts": "seldom: one hold must be resolved twice, and the first answer be said again",
}
"""Mutants that can be caught, and are not within the time that a test has; `seek` may find a seed. And why."""

MUTANTS = tuple(each for each in (*lua_mutants.ALL, *python_mutants.ALL) if each.name not in RARE)


def seed_that_catches(mutant: Mutant, seeds: range) -> int | None:
    """The first seed whose run breaks a promise that the mutant is known to break: the known one, or one of these."""
    with put_in(mutant):
        known = SEEDS.get(mutant.name)
        candidates = seeds if known is None else (known, *seeds)
        return next((seed for seed in candidates if mutant.explains(run(seed).violation)), None)


NOT_CAUGHT = {
    "claim.lua, the state LEASED": "a second delivery names the attempt that is counted already: `superseded`",
    "claim.lua, a deleted schedule": "deleting cancels what is PENDING, the sweep what becomes so: a third net",
    "claim.lua, watching the lease's end": "the look for the undelivered job comes before, and moves there",
    "executions.lua, an end that is told twice": "it says the same again",
    "turn.lua, entries whose job is gone": "they would be in its way for ever: tests/store shows it",
    "begin.lua, an attempt that was not counted": "the contract holds what is beyond its budget: the second net",
    "begin.lua, the state": "whoever owns the lease is LEASED or RUNNING; a repeated `begin` is answered before",
    "hold.lua and hand_back.lua, whose lease it is": "evidence is of one version, and another lease is another version",
    "hold.lua and hand_back.lua, the evidence": "what the decision was made from is a reason to do nothing still",
    "hand_back.lua, what is not due": "no job is made before its tick, nor while a retry waits: the contract's own net",
    "dispatch.lua, the next run in the comparison": "only the duty holder moves it without a new revision",
    "dispatch.lua, a tick that is there": "the comparison lets no tick be dispatched twice; it is the second net",
    "dispatch.lua, going back": "no plan goes back: it stands for defects of the planner",
    "update_schedule.lua, a first tick that has passed": "the tick is then due at once: late, never lost",
    "delete_schedule.lua, cancelling": "what it leaves is cancelled at its next delivery",
    "approve.lua, what does not wait": "whoever is approved twice by one reviewer is answered before, as the same",
    "fail.lua, beside another owner's result": "the next owner finds the result in its evidence, and holds",
    "completion.lua, a fencing token given twice": "only when the counter is lost: tests/store shows it",
    "outcome.lua, an open question gives way": "only when a failover forgot its attempt: tests/store shows it",
    "record.lua, rouse and wake": "they only save time: the sweep looks again by itself",
    "renew.lua, the lease's time": "the next renewal finds the lease gone, and the process ends itself",
    "gate.py, when a probe is asked": "without an answer an unknown outcome is held: safe, and nothing moves by itself",
    "admission.py": "no definition that can be written is held before its lease: the contract's tests show each gate",
    "attempt.py, asking until known": "an outcome that is not recorded is unknown, which is kept as such",
    "lease_keeper.py, alive": "the kernel's timer ends the process that goes on asking",
    "lease_keeper.py, settle": "an alarm after the end of the work ends a process that has nothing left to do",
}
"""Guards whose absence breaks no promise by itself, and why."""
