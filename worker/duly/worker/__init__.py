"""The execution plane: which worker may attempt an occurrence, and what happened.

What a task module needs is here: `task` registers a function, `current_run` tells it about its attempt, and
`OutcomeUnknown` is what it raises when it cannot tell whether its effect happened.

Model. RQ carries jobs; a job is a hint that names an occurrence. A worker goes from job to job with one script
(`rounds`): it claims the occurrence, decides from the evidence, begins, has its *work-horse* run the task (`stable`,
`horse`), and records the outcome together with the next claim. The work-horse is a forked child without a connection;
it runs attempts until it is spent, or only one with `--isolate`. Jobs that are none of ours run as RQ runs them.

Invariants. Nothing runs without a proven lease. A work-horse is dead before its lease can pass on: a kernel timer in
it, set anew only by a renewal that it asked for and its worker proved, ends it, whatever state either is in. It never
outlives its worker. After `begin` only a recorded outcome is an outcome; everything else is unknown, and unknown is
never guessed. No owner's name is used for two attempts.

Failure handling. A work-horse that dies is reported by its worker at once; a worker that dies is noticed when the lease
expires. An outcome that cannot be recorded is asked again until the lease ends. A result without a proven lease is kept
as evidence. After anything out of the ordinary the work-horse is not used again.

Non-goals. Stopping processes that a task starts in a session of its own, or that a success leaves running; interrupting
foreign code that holds the interpreter, other than by killing the work-horse.
"""

from __future__ import annotations

from duly.worker.run import LeaseLost, OutcomeUnknown, Run, current_run
from duly.worker.tasks import task

__all__ = ["LeaseLost", "OutcomeUnknown", "Run", "current_run", "task"]
