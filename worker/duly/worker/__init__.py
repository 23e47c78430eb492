"""The execution plane: which worker may attempt an occurrence, and what happened.

What a task module needs is here: `task` registers a function, `current_run` tells it about its attempt, and
`OutcomeUnknown` is what it raises when it cannot tell whether its effect happened.

Model. RQ carries jobs; a job is a hint that names an occurrence. The work-horse, a forked child, acquires the
lease, decides from the record, begins, runs the task and records the outcome, each in one atomic script.

Invariants. Nothing runs without a proven lease. A work-horse is dead before its lease can pass on: a kernel
timer ends it, whatever state Python is in. It never outlives its worker. After `begin` only a recorded outcome
is an outcome; everything else is unknown, and unknown is never guessed.

Failure handling. A work-horse that dies is reported by its parent at once; a worker that dies is noticed when
the lease expires. An outcome that cannot be recorded is asked again until the lease ends. A result without a
proven lease is kept as evidence.

Non-goals. Stopping processes that a task starts in a session of its own; interrupting foreign code that holds
the interpreter, other than by killing the work-horse.
"""

from __future__ import annotations

from duly.worker.run import LeaseLost, OutcomeUnknown, Run, current_run
from duly.worker.tasks import task

__all__ = ["LeaseLost", "OutcomeUnknown", "Run", "current_run", "task"]
