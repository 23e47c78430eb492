"""The root of the command line, and the only place where an exception becomes a line for the user."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from duly.common.cli import failure
from duly.common.cli.app import App
from duly.common.cli.lazy import Entry, LazyGroup
from duly.common.cli.options import shared_at_root

COMMANDS = {
    "demo": Entry("duly.common.cli.demo:demo", "A whole fleet on an embedded store, with a story."),
    "up": Entry("duly.common.cli.up:up", "Embedded store, workers and console, kept running."),
    "worker": Entry("duly.common.cli.worker:worker", "Run workers, and a candidate for the duty."),
    "scheduler": Entry("duly.common.cli.scheduler:scheduler", "Run a candidate for the duty only."),
    "console": Entry("duly.common.cli.console:console", "HTTP API and console."),
    "schedule": Entry("duly.common.cli.schedule:schedule", "Write, look at and change schedules."),
    "run": Entry("duly.common.cli.run:run", "One extra run now."),
    "events": Entry("duly.common.cli.events:events", "What became of each tick of a schedule."),
    "runs": Entry("duly.common.cli.runs:runs", "Run history of a schedule or of the fleet."),
    "occurrence": Entry("duly.common.cli.occurrence:occurrence", "All that is known of one tick."),
    "holds": Entry("duly.common.cli.holds:holds", "What waits for a reviewer."),
    "hold": Entry("duly.common.cli.hold:hold", "Resolve a hold, or approve a run."),
    "contract": Entry("duly.common.cli.contract:contract", "Decide a case offline; needs no Redis."),
    "recompute": Entry("duly.common.cli.recompute:recompute", "Decide again from the record: the same answer?"),
    "fleet": Entry("duly.common.cli.fleet:fleet", "Duty holder, workers, queues, lag."),
    "doctor": Entry("duly.common.cli.doctor:doctor", "Is this Redis safe for leases?"),
    "completion": Entry("duly.common.cli.completion:completion", "Completion script for your shell."),
}

EPILOG = """\b
Exit codes: 0 done, 1 refused or failed, 2 usage, 3 a HOLD.
Every option is also an environment variable: DULY_<COMMAND>_<OPTION>,
such as DULY_WORKER_CONCURRENCY; of this list DULY_REDIS_URL and DULY_JSON.
Settings of the whole fleet: DULY_PREFIX, DULY_RETENTION_MS, ...
DULY_DEBUG=1 prints the traceback of an error."""


class Root(LazyGroup):
    """The `duly` command."""

    def main(  # type: ignore[override]  # it always exits, whatever `standalone_mode` says
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run one command and exit with its code; nothing but SystemExit leaves this method."""
        given = list(sys.argv[1:] if args is None else args)
        app = extra.setdefault("obj", App())
        extra["standalone_mode"] = False
        try:
            result = super().main(given, prog_name, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = failure.USAGE
        except (click.Abort, KeyboardInterrupt):
            code = failure.INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the last place that can turn it into a line
            # An option that cannot be parsed fails before --json behind it is seen.
            code = failure.report(error, app, as_json=app.json or "--json" in given)
        else:
            code = result if isinstance(result, int) else 0
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _silence_stdout()
            return failure.BROKEN_PIPE


def _silence_stdout() -> None:
    """Keep the interpreter's own last flush from failing on the pipe that nobody reads."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=Root, table=COMMANDS, epilog=EPILOG, context_settings={"auto_envvar_prefix": "DULY", "max_content_width": 100}
)
@shared_at_root
@click.version_option(package_name="duly", prog_name="duly")
def root() -> None:
    """Periodic work on a fleet that shares one Redis.

    Every due occurrence has at most one proven owner, on record, or is held for a named person.
    """
