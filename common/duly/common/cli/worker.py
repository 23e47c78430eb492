"""`duly worker`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.modules import check_hooks, check_modules, make_importable
from duly.common.cli.options import shared
from duly.common.cli.process_options import check_store, configure_log, process_options, role
from duly.common.process.roles import Role, RoleOptions
from duly.common.process.supervisor import Supervisor

MAX_CONCURRENCY = 256
_QUEUE = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def _check_queues(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for queue in value:
        if not _QUEUE.fullmatch(queue):
            raise click.BadParameter("must be 1-64 letters, digits, '_', '.' and '-'", ctx, param)
    return tuple(dict.fromkeys(value)) or ("default",)


@click.command()
@click.option("-m", "--module", multiple=True, metavar="MODULE", help="Module that registers tasks. Required.")
@click.option("-q", "--queue", multiple=True, metavar="QUEUE", callback=_check_queues, help="default: default")
@click.option(
    "--concurrency",
    type=click.IntRange(1, MAX_CONCURRENCY),
    default=1,
    show_default=True,
    help="Worker processes.",
)
@click.option("--no-scheduler", is_flag=True, help="Do not compete for the duty.")
@click.option("--burst", is_flag=True, help="End when there is nothing left to do.")
@click.option("--allow-rq", multiple=True, metavar="NAME", help="Module or function that plain RQ jobs may name.")
@click.option("--isolate", is_flag=True, help="Fork for each job: no attempt finds what another left in memory.")
@click.option(
    "--max-jobs",
    type=click.IntRange(1, 1_000_000),
    default=1_000,
    show_default=True,
    help="Jobs that one forked child runs before another takes its place.",
)
@click.option(
    "--max-memory",
    type=click.IntRange(1, 1_000_000),
    default=256,
    show_default=True,
    metavar="MB",
    help="How much a forked child may grow before another takes its place.",
)
@process_options
@shared
@pass_app
def worker(
    app: App,
    module: tuple[str, ...],
    queue: tuple[str, ...],
    concurrency: int,
    no_scheduler: bool,
    burst: bool,
    allow_rq: tuple[str, ...],
    isolate: bool,
    max_jobs: int,
    max_memory: int,
    name: str,
    stop_grace_ms: int | None,
    log_level: str,
) -> int:
    """Run workers and, unless told otherwise, a candidate for the duty.

    SIGTERM or Ctrl+C lets running work finish; a second one gives it up. A burst that was stopped so ends with 128
    and the signal's number (143 or 130).
    """
    if not module:
        raise click.UsageError("Name the module that registers your tasks, such as: duly worker -m myapp.tasks")
    configure_log(log_level)
    make_importable()
    check_modules(module)
    if not no_scheduler:
        check_hooks(app.settings.on_enqueue)
    options = RoleOptions(name, module, queue, burst, allow_rq, 1 if isolate else max_jobs, max_memory)
    roles = list(_roles(options, concurrency, with_scheduler=not no_scheduler))
    check_store(app)
    supervisor = Supervisor(app.settings, roles, grace_ms=stop_grace_ms)
    return supervisor.run_burst() if burst else supervisor.run()


def _roles(options: RoleOptions, concurrency: int, *, with_scheduler: bool) -> Iterator[tuple[Role, RoleOptions]]:
    if with_scheduler:
        yield role("scheduler"), _named(options, "s")
    for number in range(1, concurrency + 1):
        yield role("worker"), _named(options, str(number))


def _named(options: RoleOptions, suffix: str) -> RoleOptions:
    return replace(options, name=f"{options.name}.{suffix}")
