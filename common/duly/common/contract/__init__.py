"""The decision contract: what the record of one due occurrence allows. Pure: no store, no clock, no command line.

    case = read_case(json.loads(text))      or Case(...) from the store, instants as epoch milliseconds
    verdict = decide(case)
    verdict.runs, verdict.decision, verdict.holds, verdict.blocking_fields, verdict.explanation

Model. A `Case` is eighteen fields of evidence, as read from the record at one instant, and the facts observed
beside it: what time it was, which tick is due, what is known of earlier attempts, which leases claim it, how far it
was delayed. That a timer fired is none of them. `decide` gives the one decision they allow; the worker and the
scheduler obey it, and anyone who has the case gets the same answer again.

Principle. A gate passes only on what it can read and verify. A field that is absent, null where null says nothing,
or malformed is `UNREADABLE`: evidence of nothing. A gate that cannot read an input it needs holds under its own
code and names the field. So the more is wrong, the more holds there are: making another field unreadable never
takes away a hold that was there.

Precedence. An incomplete identity decides first. Then `ALREADY_COMMITTED` and `NOT_DUE`, where nothing is left to
guard. Then the other holds in the order of `GATES`; all gates are asked, all holds are reported, the first one is
the decision. Then `RETRY_NOT_YET_DUE` and `COALESCED_STALE_TICK`. Only then may something run, and the name of that
decision says that it is one attempt under review, not a promise about effects.

Failure handling. `read_case` refuses what is no case at all (`MalformedCase`) and reads everything else; `decide`
never raises on what it reads.

Non-goals. Nothing is acquired, written or retried here, no missing answer is guessed, and no text other than the
case is looked at: whether a lease is real is for the store to say, this is what follows if it is.
"""

from __future__ import annotations

from .case import BY_EXPRESSION, MANUAL, TIMETABLE, UNREADABLE, BackoffState, ByExpression, Case, Claim, Unreadable
from .deciding import decide, decision_of, holds_before_lease, standing_holds
from .decision import Decision, Verdict
from .gates import GATES
from .reading import MalformedCase, read_case
from .schema import schema
from .shipped import Example, examples
from .writing import write_case

__all__ = [
    "BY_EXPRESSION",
    "GATES",
    "MANUAL",
    "TIMETABLE",
    "UNREADABLE",
    "BackoffState",
    "ByExpression",
    "Case",
    "Claim",
    "Decision",
    "Example",
    "MalformedCase",
    "Unreadable",
    "Verdict",
    "decide",
    "decision_of",
    "examples",
    "holds_before_lease",
    "read_case",
    "schema",
    "standing_holds",
    "write_case",
]
