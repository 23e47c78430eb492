"""The command line.

Model. One tree of click commands, `root`, whose branches are imported only when they are used. `App` carries what
every command shares: the output format, the settings and, from its first use on, the store. A command reads its
options, asks the store, and hands one JSON value and one way to draw it to `App.show`. What the API and the console say
too is in `duly.common.explain`; here is how a terminal shows it.

Invariants. A command either prints its result on stdout and ends with 0, or prints one line on stderr and ends
with 1 (refused or failed), 2 (usage) or 3 (a HOLD). Whatever is shown is made harmless first: control characters
never reach a terminal. Options are also environment variables, ``DULY_<COMMAND>_<OPTION>``.

Failure handling. `duly.common.cli.root.Root.main` is the only place where an exception becomes a line; no
command catches what it does not understand.

Non-goals. No rule about schedules lives here: the records refuse what is wrong and say why.
"""

from __future__ import annotations

import io
import sys

from duly.common.cli.root import root

__all__ = ["main", "root"]


def main() -> None:
    """The `duly` program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows its code rather than stopping the command.
            stream.reconfigure(errors="backslashreplace")
    root.main(prog_name="duly")
