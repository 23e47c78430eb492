"""`duly up`."""

from __future__ import annotations

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
from duly.common.cli.modules import check_modules, make_importable
from duly.common.clock import Clock, SystemClock
from duly.common.embedded import EmbeddedStore
from duly.common.process.local import LocalWorker, stop_all

EXAMPLE_MODULE = "duly.worker.demo.updater"
_POLL_S = 0.1
_FIRST_RESTART_MS = 500.0
_LAST_RESTART_MS = 15_000.0
_STABLE_MS = 30_000.0


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
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON when it is up.")
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
    as_json: bool,
) -> int:
    """Embedded store and workers, kept running until Ctrl+C or SIGTERM; the data is kept in a folder.

    A store or a worker that dies is started again. Ctrl+C lets running attempts finish; a second one gives them up.
    """
    app.json = app.json or as_json
    modules = module or (EXAMPLE_MODULE,)
    make_importable()
    check_modules(modules)
    arguments = [f"--module={each}" for each in modules] + [f"--queue={each}" for each in queue]
    with _stop_requests() as stopping, EmbeddedStore(data_dir, port) as store:
        _keep_out_of_git(store.data_dir)
        environment = os.environ | {"DULY_REDIS_URL": store.url}
        fleet = [
            LocalWorker(f"up-{number}", [*arguments, f"--concurrency={concurrency}"], environment)
            for number in range(1, workers + 1)
        ]
        try:
            for each in fleet:
                each.start()
            _announce(app, store, modules, fleet)
            _Keeper(store, fleet, SystemClock()).run(stopping)
        finally:
            click.echo("Stopping; running attempts may finish (Ctrl+C again gives them up).", err=True)
            stop_all(fleet, stop_grace_ms, hurry=lambda: stopping.count > 1)
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


class _Keeper:
    """Starts what died again: the store at once, a worker after a wait that grows while it keeps dying."""

    def __init__(self, store: EmbeddedStore, fleet: Sequence[LocalWorker], clock: Clock) -> None:
        self._store = store
        self._fleet = fleet
        self._clock = clock
        self._waits = {each.name: _FIRST_RESTART_MS for each in fleet}
        self._restart_at: dict[str, float] = {}

    def run(self, stopping: _Stopping) -> None:
        """Keep everything running until the first request to stop; raises EmbeddedStoreError."""
        while stopping.count == 0:
            self._look_after_store()
            for worker in self._fleet:
                self._look_after(worker)
            time.sleep(_POLL_S)

    def _look_after_store(self) -> None:
        if self._store.alive:
            return
        click.echo("The store ended; starting it again.", err=True)
        self._store.start()

    def _look_after(self, worker: LocalWorker) -> None:
        if worker.alive:
            return
        now_ms = self._clock.monotonic_ms()
        if worker.name not in self._restart_at:
            stable = now_ms - worker.started_ms >= _STABLE_MS
            wait_ms = _FIRST_RESTART_MS if stable else self._waits[worker.name]
            self._waits[worker.name] = min(wait_ms * 2, _LAST_RESTART_MS)
            self._restart_at[worker.name] = now_ms + wait_ms
            click.echo(f"{worker.name} ended; starting it again in {wait_ms:.0f} ms.", err=True)
        if now_ms >= self._restart_at[worker.name]:
            del self._restart_at[worker.name]
            worker.start()


def _announce(app: App, store: EmbeddedStore, modules: Sequence[str], fleet: Sequence[LocalWorker]) -> None:
    names = [each.name for each in fleet]
    payload = {
        "redis_url": store.url,
        "data_dir": str(store.data_dir),
        "modules": list(modules),
        "workers": names,
        "pid": os.getpid(),
    }
    if app.json:
        click.echo(json.dumps(payload))
        sys.stdout.flush()
        return
    rows = [("store", store.url), ("data", str(store.data_dir)), ("workers", ", ".join(names))]
    output.console().print(output.facts([*rows, ("tasks of", ", ".join(modules))]))
    click.echo(_next_steps(store.url, modules))
    sys.stdout.flush()


def _next_steps(url: str, modules: Sequence[str]) -> str:
    task = "docs.refresh" if EXAMPLE_MODULE in modules else "YOUR.TASK"
    return f"""
In another terminal:
  export DULY_REDIS_URL={url}
  duly schedule add first --spec @every:5000 --task {task} \\
      --missed-run-policy run_once --review-owner me
  duly runs --follow
  duly fleet
Ctrl+C stops everything and keeps the data. Console: duly console.
"""


def _keep_out_of_git(folder: Path) -> None:
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
