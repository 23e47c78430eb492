"""`duly schedule export`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared
from duly.common.cli.schedule.schedule_file import InvalidFile
from duly.common.cli.schedule.sync_plan import all_records
from duly.common.cli.schedule.toml_text import write_schedules, written_fields
from duly.common.explain.text import count, safe
from duly.common.records.schedule import ScheduleRecord

_LONGEST = 50


@click.command()
@click.option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output.")
@shared
@pass_app
def export(app: App, output: str | None) -> None:
    """Write all schedules as TOML that `duly schedule sync` reads back."""
    records = list(all_records(app.store))
    if output is not None:
        _replace(Path(output), "".join(write_schedules(records)))
        app.show(
            {"file": output, "schedules": len(records)},
            lambda: f"wrote {count(len(records), 'schedule')} to {_shown(output)}",
        )
    elif app.json:
        app.show({"schedules": _payload(records)}, lambda: "")
    else:
        for part in write_schedules(records):
            click.echo(part, nl=False)


def _payload(records: Sequence[ScheduleRecord]) -> list[dict[str, Any]]:
    return [written_fields(record.definition) for record in records]


def _shown(file: str) -> str:
    """The file as it was named, or its last part when that is long."""
    return safe(file if len(file) <= _LONGEST else f".../{Path(file).name[-_LONGEST:]}")


def _replace(path: Path, text: str) -> None:
    """Write the file whole or not at all."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:50]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink()
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise InvalidFile(f"cannot write {str(path)[:200]}: {reason}", "output") from None
