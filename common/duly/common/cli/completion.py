"""`duly completion`."""

from __future__ import annotations

import os
from pathlib import PurePath

import click
from click.shell_completion import ShellComplete, get_completion_class

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared_offline

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", required=False, type=click.Choice(SHELLS), metavar="[bash|zsh|fish]")
@shared_offline
@pass_app
def completion(app: App, shell: str | None) -> None:
    """Print the completion script for your shell (default: the one in $SHELL).

    \b
    bash:  eval "$(duly completion bash)"          in ~/.bashrc
    zsh:   eval "$(duly completion zsh)"           in ~/.zshrc
    fish:  duly completion fish | source           in config.fish
    """
    shell = shell or PurePath(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        raise click.UsageError("Name your shell: bash, zsh or fish.")
    script = _script(shell)
    if app.json:
        app.show({"shell": shell, "script": script}, lambda: "")
    else:
        click.echo(script)


def _script(shell: str) -> str:
    kind = get_completion_class(shell)
    assert kind is not None
    made = kind(click.get_current_context().find_root().command, {}, "duly", "_DULY_COMPLETE")
    # bash's own `source` first starts a bash to ask for its version; the script is the same.
    return ShellComplete.source(made)
