"""The fields of a schedule as options of `schedule add` and `schedule update`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import click

from duly.common.errors import InvalidField
from duly.common.records.definition import MissedRunPolicy, Overlap
from duly.common.strict_json import read_array, read_object

_F = TypeVar("_F", bound=Callable[..., Any])

BACKOFF_PARTS = ("base_ms", "factor", "max_ms")


class Cleared(Enum):
    """The word ``none``: the field shall hold nothing."""

    NONE = "none"


def int_or_none(text: str) -> int | Cleared:
    """A whole number, or the word ``none``."""
    if text == Cleared.NONE.value:
        return Cleared.NONE
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter("must be a whole number, or 'none'") from None


def text_or_none(text: str) -> str | Cleared:
    """Text, or the word ``none``."""
    return Cleared.NONE if text == Cleared.NONE.value else text


def _option(*names: str, **attributes: Any) -> Callable[[type[click.Option]], Callable[[Any], Any]]:
    return lambda cls: click.option(*names, cls=cls, **attributes)


def _ms(name: str, help_text: str) -> Callable[[type[click.Option]], Callable[[Any], Any]]:
    return _option(name, type=int, metavar="MS", help=help_text)


_OPTIONS: list[Callable[[type[click.Option]], Callable[[Any], Any]]] = [
    _option("--spec", metavar="SPEC", help="'@every:<ms>' or cron, perhaps after 'CRON_TZ=<zone> '. Required."),
    _option("--task", metavar="NAME", help="Registered task to run. Required."),
    _option("--args", metavar="JSON", help="Positional arguments, a JSON array."),
    _option("--kwargs", metavar="JSON", help="Keyword arguments, a JSON object."),
    _option("--queue", metavar="NAME", help="RQ queue (default: default)."),
    _option(
        "--missed-run-policy",
        type=click.Choice([each.value for each in MissedRunPolicy]),
        help="What becomes of ticks missed while down. Required.",
    ),
    _option("--backfill-limit", type=int_or_none, metavar="N", help="1-1000; with backfill only."),
    _option("--max-lateness-ms", type=int_or_none, metavar="MS", help="Later ticks are skipped."),
    _ms("--jitter-window-ms", "Spread the release of ticks over this window (default 0)."),
    _option(
        "--overlap",
        type=click.Choice([each.value for each in Overlap]),
        help="While an earlier occurrence runs (default skip).",
    ),
    _ms("--lease-ttl-ms", "Lease of one attempt (default 30000)."),
    _ms("--timeout-ms", "Longest attempt (default 300000)."),
    _option("--retry-budget", type=int, metavar="N", help="Attempts in all, 1-100 (default 3)."),
    _option("--backoff", metavar="JSON", help='Such as {"base_ms": 1000, "factor": 2, "max_ms": 300000}.'),
    _ms("--backoff-base-ms", "Wait before the second attempt (default 1000)."),
    _option("--backoff-factor", type=float, metavar="X", help="Growth of the wait (default 2)."),
    _ms("--backoff-max-ms", "Longest wait (default 300000)."),
    _option("--review-owner", metavar="NAME", help="Who answers for holds. Required."),
    _option(
        "--approval",
        type=click.Choice(["automatic", "required"]),
        help="Whether each run waits for its reviewer: duly hold approve (default automatic).",
    ),
    _option("--start-at", type=text_or_none, metavar="T", help="No ticks before; RFC 3339."),
    _option("--end-at", type=text_or_none, metavar="T", help="No ticks after; RFC 3339."),
]


_OF_A_NEW_ONE = re.compile(r" Required\.| \(default:? [^)]*\)")


class _Change(click.Option):
    """A field of a schedule that is there: nothing is required, and what is not given stays as it is."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **{**attributes, "help": _OF_A_NEW_ONE.sub("", attributes["help"])})


def definition_options(command: _F) -> _F:
    """Every field of a new schedule as an option; one that is not given is None."""
    return _with(click.Option, command)


def change_options(command: _F) -> _F:
    """Every field of a schedule that is there as an option; one that is not given is None."""
    return _with(_Change, command)


def _with(cls: type[click.Option], command: _F) -> _F:
    for option in reversed(_OPTIONS):
        command = option(cls)(command)
    return command


@dataclass(frozen=True, slots=True)
class GivenFields:
    """What the options say. ``fields``: by name, with JSON read and ``none`` turned into None.

    ``backoff_parts``: parts of the backoff given one by one, which go on top of the whole.
    """

    fields: dict[str, Any]
    backoff_parts: dict[str, Any] = field(default_factory=dict)

    def complete(self) -> dict[str, Any]:
        """The fields of a new schedule."""
        return self.over({})

    def over(self, backoff: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an edit; parts of the backoff go on top of ``backoff`` unless the whole was given."""
        if not self.backoff_parts:
            return self.fields
        return {**self.fields, "backoff": {**self.fields.get("backoff", backoff), **self.backoff_parts}}


def given_fields(options: Mapping[str, Any]) -> GivenFields:
    """Sort what the options say; raises InvalidField for text that is not the JSON it must be."""
    given: dict[str, Any] = {
        name: None if value is Cleared.NONE else value for name, value in options.items() if value is not None
    }
    parts = {part: given.pop(f"backoff_{part}") for part in BACKOFF_PARTS if f"backoff_{part}" in given}
    if "args" in given:
        given["args"] = read_array("args", given["args"])
    for name in ("kwargs", "backoff"):
        if name in given:
            given[name] = read_object(name, given[name])
    return GivenFields(given, parts)


_REQUIRED = {
    "spec": "",
    "task": "",
    "missed_run_policy": " (skip, run_once or backfill)",
    "review_owner": " (who answers for holds)",
}


def check_required(given: Mapping[str, Any]) -> None:
    """Raises InvalidField naming all required fields that are missing, when there are several."""
    missing = [name for name in _REQUIRED if name not in given]
    if len(missing) > 1:
        others = [f"{name}{_REQUIRED[name]}" for name in missing[1:]]
        raise InvalidField(missing[0], f"is required, and so {'is' if len(others) == 1 else 'are'} {', '.join(others)}")
