"""`duly scheduler`."""

from __future__ import annotations

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.modules import check_hooks, make_importable
from duly.common.cli.options import shared
from duly.common.cli.process_options import check_store, configure_log, process_options, role
from duly.common.process.roles import RoleOptions
from duly.common.process.supervisor import Supervisor


@click.command()
@click.option("--burst", is_flag=True, help="End when nothing is due.")
@process_options
@shared
@pass_app
def scheduler(app: App, burst: bool, name: str, stop_grace_ms: int | None, log_level: str) -> int:
    """Run a candidate for the duty, and no workers. Any number of them may run."""
    configure_log(log_level)
    make_importable()
    check_hooks(app.settings.on_enqueue)
    roles = [(role("scheduler"), RoleOptions(name, burst=burst))]
    check_store(app)
    supervisor = Supervisor(app.settings, roles, grace_ms=stop_grace_ms)
    return supervisor.run_burst() if burst else supervisor.run()
