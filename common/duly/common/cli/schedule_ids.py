"""Ids of schedules for a shell that completes them."""

from __future__ import annotations

import click

from duly.common.cli.app import App
from duly.common.errors import DulyError

MOST = 50


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """The first ids that begin so, in order; none, and no word of it, where the store does not answer at once."""
    app = ctx.ensure_object(App)
    app.hurried = True
    try:
        return app.store.schedules.ids(incomplete, MOST)
    except DulyError:
        return []
