"""Other schedulers on Redis, each used as its maintainers mean it.

Every module runs in an environment of its own (`tests.benchmarks.peer_environment`), where there is no `duly`:
``python -m tests.benchmarks.peers.with_huey URL SIZE`` makes SIZE schedules due, times how the peer turns them into
jobs, and prints one line of JSON.
"""
