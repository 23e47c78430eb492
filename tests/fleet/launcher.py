"""One container of the fleet: a supervisor with a scheduler candidate and some workers.

Run as ``python -m tests.fleet.launcher NAME FOLDER``. Every process writes its id to ``FOLDER/<its name>.pid``, so
that a test can tell the scheduler from a worker.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

from duly.common.process.parent import die_with_parent
from duly.common.process.roles import Role, RoleOptions, load_role
from duly.common.process.supervisor import Supervisor
from duly.common.settings import Settings

TASKS = "tests.fleet.fleet_tasks"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--no-scheduler", action="store_true")
    parser.add_argument("--queue", action="append")
    parser.add_argument("--grace-ms", type=float)
    parser.add_argument("--isolate", action="store_true")
    parser.add_argument("--burst", action="store_true")
    options = parser.parse_args()
    # A test run that is killed must not leave a fleet behind.
    die_with_parent(options.parent)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    roles: list[tuple[Role, RoleOptions]] = []
    if not options.no_scheduler:
        roles.append((_noted("scheduler", options.folder), RoleOptions(f"{options.name}.s", burst=options.burst)))
    for number in range(1, options.workers + 1):
        queues = tuple(options.queue or ["default"])
        jobs = 1 if options.isolate else 1_000
        name = f"{options.name}.{number}"
        worker = RoleOptions(name, modules=(TASKS,), queues=queues, burst=options.burst, max_jobs=jobs)
        roles.append((_noted("worker", options.folder), worker))
    supervisor = Supervisor(Settings.from_environment(), roles, grace_ms=options.grace_ms)
    return supervisor.run_burst() if options.burst else supervisor.run()


def _noted(role_name: str, folder: Path) -> Role:
    """The role, which first writes down under which process id it runs."""
    role = load_role(role_name)

    def noted(settings: Settings, options: RoleOptions) -> int:
        written = folder / f"{options.name}.pid.new"
        written.write_text(str(os.getpid()))
        written.rename(folder / f"{options.name}.pid")
        return role(settings, options)

    return noted


if __name__ == "__main__":
    sys.exit(main())
