"""The trigger plane: which occurrences are due, and which of them become jobs.

Model. Every worker process is a candidate for the *duty*; the one that holds it sweeps. A sweep surveys what is
due in one round trip, plans each schedule's ticks with the pure `missed_run` policy, and dispatches hundreds of
ticks in one script. It then attends open occurrences: expired leases, retries that have come due, and
deliveries that vanished with RQ's keys.

Invariants. Each write checks the duty's token in the store. A schedule advances only after its ticks are
enqueued and audited, and only from where it stood. A tick is never dispatched before its release instant on
the store's clock. Repeating a sweep repeats nothing.

Failure handling. A candidate that cannot reach the store waits and proves the duty again. A schedule that fails
stays due and waits longer each time; the others go on. A clean stop hands the duty over; a dead holder is
replaced when the duty expires.

Non-goals. Sub-millisecond dispatch; sweeping one fleet from several holders at once.
"""
