"""`duly demo`."""

from __future__ import annotations

import json
import sys

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.failure import INTERRUPTED
from duly.common.cli.options import json_option
from duly.common.clock import SystemClock


@click.command()
@click.option("--keep", is_flag=True, help="Run a console too, and leave all running after the story.")
@json_option("Print the tally as JSON at the end; the story goes to stderr.")
@pass_app
def demo(app: App, keep: bool) -> int:
    """A whole fleet on an embedded store, with a story: about a minute, needs nothing else.

    Three workers watch documents; workers are killed, the fleet goes down and comes back, and in the end every
    tick is accounted for from the records. Ends with 1 when a promise was broken. With --keep the story can also be
    followed in a browser, and the fleet goes on until Ctrl+C.
    """
    from duly.common.demo.narrator import narrator_for
    from duly.common.demo.running import run_demo

    narrator = narrator_for(sys.stderr if app.json else sys.stdout, SystemClock())
    narrator.title("duly demo: three workers, one store, and everything that goes wrong.", "head")
    try:
        tally = run_demo(narrator, keep=keep)
    except KeyboardInterrupt:
        narrator.close()
        narrator.title("Stopped before the end; all its processes are gone.")
        return INTERRUPTED
    finally:
        narrator.close()
    if app.json:
        click.echo(json.dumps(tally.to_dict(), indent=2))
    return 0 if tally.kept else 1
