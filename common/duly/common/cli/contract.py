"""`duly contract ...`: the decision contract on files, without a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from duly.common.cli import failure, output
from duly.common.cli.app import App, pass_app
from duly.common.cli.options import shared_offline
from duly.common.cli.verdicts import code_cell, decision_cell
from duly.common.contract import Example, Verdict, decide, examples, read_case, schema
from duly.common.errors import DulyError, InvalidField, Refused
from duly.common.strict_json import read_value

MAX_FILE_BYTES = 1_048_576
_LONGEST_VALUE = 400
_STDIN = "-"


class FileFault(DulyError):
    """A file that cannot be decided; the others can."""

    def __init__(self, file: str, fault: str, *, code: str, field: str | None = None) -> None:
        super().__init__(f"{'standard input' if file == _STDIN else file}: {fault}")
        self.code = code
        self.field = field
        self.details: Mapping[str, Any] = {"file": file}


@dataclass(frozen=True, slots=True)
class Decided:
    """A file with what it holds and what that allows."""

    file: str
    content: Mapping[str, Mapping[str, Any]]
    verdict: Verdict


@click.group()
@shared_offline
def contract() -> None:
    """Decide what the record of an occurrence allows, from a file.

    The same code decides in the fleet. Nothing here needs or asks a Redis.
    """


@contract.command("decide")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@shared_offline
@pass_app
def decide_files(app: App, files: Sequence[str]) -> int:
    """What each case file allows: a run, nothing to do, or a HOLD and who must resolve it.

    `-` reads standard input. Ends with 0 when it may run or nothing is to be done, 3 when one holds, and 2 when a
    file is no case file; the others are decided all the same.
    """
    decided, faults = list[Decided](), list[FileFault]()
    for file in files:
        try:
            decided.append(_decide(file))
        except FileFault as error:
            faults.append(error)
    _show(app, decided, several=len(files) > 1)
    for fault in faults:
        failure.report(fault, app, as_json=app.json)
    if faults:
        return failure.USAGE
    return failure.HELD if any(each.verdict.decision.holds for each in decided) else 0


@contract.command("schema")
@shared_offline
def show_schema() -> None:
    """Print the JSON Schema of a case file."""
    click.echo(json.dumps(schema(), indent=2))


@contract.command("examples")
@click.option("--write", metavar="DIR", type=click.Path(file_okay=False), help="Write the files to DIR.")
@shared_offline
@pass_app
def list_examples(app: App, write: str | None) -> None:
    """Case files to learn from, and what is decided about them.

    None of the files says what is decided: work it out, then ask `duly contract decide`.
    """
    told = [(each, decide(each.case).decision.value) for each in examples()]
    written = None if write is None else _write(Path(write), [each for each, _ in told])
    listed = [{"name": each.name, "decision": decision, "title": each.title} for each, decision in told]
    payload: dict[str, Any] = {"examples": listed}
    if written is not None:
        payload["written"] = written
    app.show(payload, lambda: _draw_examples(told) if written is None else _draw_written(written, write))


def _decide(file: str) -> Decided:
    text = _text(file)
    try:
        content = read_value(file, text)
    except InvalidField as error:
        raise FileFault(file, str(error).removeprefix(f"{file}: "), code="malformed_case") from error
    try:
        case = read_case(content)
    except InvalidField as error:
        raise FileFault(file, str(error), code=error.code, field=error.field) from error
    return Decided(file, content, decide(case))


def _text(file: str) -> str:
    # One byte more than is allowed, so that neither an endless file nor a large one is ever read whole.
    try:
        if file == _STDIN:
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, AttributeError) as error:  # no such file, or no standard input
        reason = getattr(error, "strerror", None) or "it is not open"
        raise FileFault(file, f"cannot be read: {reason}", code="unreadable_file") from error
    if len(data) > MAX_FILE_BYTES:
        raise FileFault(file, "is over 1 MiB", code="malformed_case")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileFault(file, f"is not UTF-8 text (byte {error.start})", code="malformed_case") from error


def _show(app: App, decided: Sequence[Decided], *, several: bool) -> None:
    if app.json and several:
        click.echo(json.dumps([{"file": each.file, **each.verdict.to_dict()} for each in decided], indent=2))
        return
    for number, each in enumerate(decided):
        if number:
            click.echo()
        app.show(each.verdict.to_dict(), lambda each=each: _draw(each, named=several))  # type: ignore[misc]


def _draw(decided: Decided, *, named: bool) -> RenderableType:
    verdict = decided.verdict
    blocking = [f"{name} = {_value(decided.content, name)}" for name in verdict.blocking_fields]
    return output.facts(
        [
            ("file", output.cell(decided.file, "bold") if named else None),
            ("decision", decision_cell(verdict)),
            ("why", verdict.explanation),
            ("holds", output.lines(*[hold.value for hold in verdict.holds]) if verdict.holds else None),
            ("blocking", output.lines(*blocking) if blocking else None),
            ("review owner", output.cell(verdict.review_owner)),
        ]
    )


def _value(content: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """The value of a field as the file has it, without the middle of what is long."""
    part = next((part for part in content.values() if name in part), None)
    if part is None:
        return "(absent)"
    shown = json.dumps(part[name], ensure_ascii=False)
    half = _LONGEST_VALUE // 2
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[:half]} ... {shown[-half:]}"


def _write(folder: Path, shipped: Sequence[Example]) -> list[str]:
    """Write the files that are not there yet, or none; raises Refused when one is there and differs."""
    paths = {folder / f"{each.name}.json": each.text.encode() for each in shipped}
    try:
        there = {path: path.read_bytes() for path in paths if path.exists() or path.is_symlink()}
        differing = [path.name for path, data in there.items() if data != paths[path]]
        if differing:
            raise Refused(f"{folder} holds a {differing[0]} with other contents; nothing was written")
        folder.mkdir(parents=True, exist_ok=True)
        missing = [path for path in paths if path not in there]
        for path in missing:
            with path.open("xb") as stream:
                stream.write(paths[path])
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Refused(f"{folder} cannot be written: {reason}", code="unwritable") from error
    return [str(path) for path in missing]


def _draw_examples(told: Sequence[tuple[Example, str]]) -> RenderableType:
    rows = [
        (output.cell(each.name, "bold"), Text("\n").join([code_cell(decision), output.cell(each.title)]))
        for each, decision in told
    ]
    return output.stack(
        output.table("EXAMPLE", "DECISION, AND WHAT IT TELLS", rows=rows),
        "",
        "their files:",
        output.command("duly", "contract", "examples", "--write DIR"),
    )


def _draw_written(written: Sequence[str], folder: str | None) -> RenderableType:
    lines = [f"wrote {path}" for path in written] or [f"nothing to write: all of them are in {folder}"]
    drawn = output.lines(*lines)
    # A path that is broken over two lines can be neither copied nor searched for.
    drawn.no_wrap, drawn.overflow = True, "ignore"
    return drawn
