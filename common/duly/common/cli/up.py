"""`duly up`."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from duly.common.cli import output
from duly.common.cli.app import App, pass_app
from duly.common.cli.modules import check_hooks, check_modules, make_importable
from duly.common.cli.options import json_option
from duly.common.clock import SystemClock
from duly.common.embedded import EmbeddedStore
from duly.common.process.keeping import Keeper
from duly.common.process.local import LocalProcess, stop_all
from duly.common.process.local_console import ConsoleRefused, LocalConsole
from duly.common.store import Store

EXAMPLE_MODULE = "duly.worker.demo.updater"
_POLL_S = 0.1


@click.command()
@click.option("-m", "--module", multiple=True, metavar="MODULE", help=f"Tasks; without any, {EXAMPLE_MODULE}.")
@click.option("-q", "--queue", multiple=True, metavar="QUEUE", help="default: default")
@click.option("--concurrency", type=click.IntRange(1, 256), default=1, show_default=True, help="Attempts per process.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="`duly worker` processes.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Of the store; default: a free one, kept for next time.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False), default=Path(".duly"), show_default=True,
    help="Where the data is kept.",
)  # fmt: skip
@click.option(
    "--stop-grace-ms", type=click.IntRange(0, 3_600_000), default=10_000, show_default=True, metavar="MS",
    help="How long running attempts may take to finish when it is stopped.",
)  # fmt: skip
@click.option("--no-console", is_flag=True, help="Run no console.")
@click.option(
    "--console-port", type=click.IntRange(0, 65_535),
    help="Of the console; 0 takes a free one; default: 8787, or a free one while that is taken.",
)  # fmt: skip
@json_option("Print one line of JSON when it is up.")
@pass_app
def up(
    app: App,
    module: tuple[str, ...],
    queue: tuple[str, ...],
    concurrency: int,
    workers: int,
    port: int | None,
    data_dir: Path,
    stop_grace_ms: int,
    no_console: bool,
    console_port: int | None,
) -> int:
    """Embedded store, workers and console, kept running until Ctrl+C or SIGTERM; the data is kept in a folder.

    What dies is started again. Ctrl+C lets running attempts finish; a second one gives them up.
    """
    modules = module or (EXAMPLE_MODULE,)
    make_importable()
    tasks = check_modules(modules)
    check_hooks(app.settings.on_enqueue)
    arguments = [f"--module={each}" for each in modules] + [f"--queue={each}" for each in queue]
    arguments.append(f"--concurrency={concurrency}")
    with _stop_requests() as stopping, EmbeddedStore(data_dir, port) as store:
        _keep_out_of_git(store.data_dir)
        environment = os.environ | {"DULY_REDIS_URL": store.url}
        fleet = [
            LocalProcess(name, ("worker", "--name", name, *arguments), environment)
            for name in (f"up-{number}" for number in range(1, workers + 1))
        ]
        console = LocalConsole(environment, store.data_dir / "console.log", console_port)
        try:
            for each in fleet:
                each.start()
            url = None if no_console else _open(console, stopping)
            _announce(app, store, modules, tasks, fleet, url)
            _keep_running(store, [*fleet, console] if url else fleet, stopping)
        finally:
            click.echo("Stopping; running attempts may finish (Ctrl+C again gives them up).", err=True)
            stop_all(fleet, stop_grace_ms, hurry=lambda: stopping.count > 1)
            # After the attempts, so that their ends can be watched.
            console.stop()
    click.echo(f"Stopped. The data is in {store.data_dir}.", err=True)
    return 0


@dataclass
class _Stopping:
    """How often the user asked to stop."""

    count: int = 0


@contextmanager
def _stop_requests() -> Iterator[_Stopping]:
    stopping = _Stopping()

    def request(*_: object) -> None:
        stopping.count += 1

    watched = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {each: signal.signal(each, request) for each in watched}
    try:
        yield stopping
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _open(console: LocalConsole, stopping: _Stopping) -> str | None:
    """The console's address; None, and why in a line, where it cannot be had."""
    try:
        return console.open(given_up=lambda: stopping.count > 0)
    except ConsoleRefused as error:
        if stopping.count == 0:
            click.echo(f"No console: {error}", err=True)
        return None


def _keep_running(store: EmbeddedStore, processes: Sequence[LocalProcess], stopping: _Stopping) -> None:
    """Keep everything running until the first request to stop; raises EmbeddedStoreError."""
    keeper = Keeper(processes, SystemClock(), lambda line: click.echo(line, err=True))
    while stopping.count == 0:
        if not store.alive:
            click.echo("The store ended; starting it again.", err=True)
            store.start()
        keeper.look()
        time.sleep(_POLL_S)


def _announce(
    app: App,
    store: EmbeddedStore,
    modules: Sequence[str],
    tasks: Sequence[str],
    fleet: Sequence[LocalProcess],
    console: str | None,
) -> None:
    names, schedules = [each.name for each in fleet], _schedules(app, store)
    payload = {
        "redis_url": store.url,
        "console_url": console,
        "data_dir": str(store.data_dir),
        "modules": list(modules),
        "tasks": list(tasks),
        "schedules": schedules,
        "workers": names,
        "pid": os.getpid(),
    }
    if app.json:
        click.echo(json.dumps(payload))
        sys.stdout.flush()
        return
    rows = [("store", store.url), ("data", str(store.data_dir)), ("schedules", str(schedules))]
    rows += [("workers", ", ".join(names)), ("modules", ", ".join(modules)), ("tasks", ", ".join(tasks) or "none")]
    output.write(output.facts([*rows, ("console", console)]))
    click.echo(next_steps(store.url, tasks, console, schedules))
    sys.stdout.flush()


def _schedules(app: App, store: EmbeddedStore) -> int:
    """How many schedules the store keeps."""
    kept = Store.connect(dataclasses.replace(app.settings, redis_url=store.url))
    return int(kept.fleet.snapshot()["schedules"])


def next_steps(url: str, tasks: Sequence[str], console: str | None, schedules: int) -> str:
    """What to do next with a fleet that runs."""
    if schedules:
        begin = f"Its schedules are on {console}/; or look in" if console else "In"
        first = "  duly schedule list"
    else:
        begin = f"Write a first schedule on {console}/new, or in" if console else "In"
        task = "docs.refresh" if "docs.refresh" in tasks else tasks[0] if tasks else "YOUR.TASK"
        first = f"""  duly schedule add first --spec @every:5000 --task {task} \\
      --missed-run-policy run_once --review-owner me"""
    return f"""
{begin} another terminal:
  export DULY_REDIS_URL={url}
{first}
  duly runs --follow
  duly fleet
Ctrl+C stops everything and keeps the data.
"""


def _keep_out_of_git(folder: Path) -> None:
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
