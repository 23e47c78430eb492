"""Who tells the story: coloured and with a board of the fleet in a terminal, in plain lines anywhere else."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from duly.common.clock import Clock

WIDTH = 80
_MARGIN = 10
_STYLES = {"act": "yellow", "good": "green", "bad": "bold red", "dim": "dim", "head": "bold", "command": "cyan"}


@dataclass(frozen=True, slots=True)
class Seat:
    """One worker on the board."""

    name: str
    alive: bool
    on_duty: bool
    doing: str


class Narrator(Protocol):
    """Tells one thing after another. Tones: ``act`` (the demo did it), ``good``, ``bad``, ``dim``, or none."""

    def title(self, text: str, tone: str = "") -> None:
        """A line without a time."""

    def chapter(self, number: int, title: str) -> None:
        """A new chapter begins."""

    def say(self, text: str, tone: str = "") -> None:
        """What happened, with the time since the start."""

    def command(self, *words: str) -> None:
        """A command that is run, so that it can be copied."""

    def board(self, seats: Callable[[], Sequence[Seat]]) -> None:
        """How the fleet stands now; asked for only where there is a board."""

    def close(self) -> None:
        """Nothing more is told."""


class PlainNarrator:
    """One line for each event, at most 80 columns wide, flushed at once."""

    def __init__(self, clock: Clock, stream: TextIO) -> None:
        self._clock = clock
        self._stream = stream
        self._started_ms = clock.monotonic_ms()

    def title(self, text: str, tone: str = "") -> None:
        for line in textwrap.wrap(text, WIDTH, replace_whitespace=False, break_long_words=False) or [""]:
            self._write(line, tone)

    def chapter(self, number: int, title: str) -> None:
        self._write("", "")
        self._write(f"{number}. {title}", "head")

    def say(self, text: str, tone: str = "") -> None:
        elapsed_s = (self._clock.monotonic_ms() - self._started_ms) / 1000
        self._indented(f"{elapsed_s:6.1f} s", textwrap.wrap(text, WIDTH - _MARGIN), tone)

    def command(self, *words: str) -> None:
        self._indented("", _shell_lines(words, WIDTH - _MARGIN), "command")

    def board(self, seats: Callable[[], Sequence[Seat]]) -> None:
        pass

    def close(self) -> None:
        pass

    def _indented(self, label: str, lines: Sequence[str], tone: str) -> None:
        for number, line in enumerate(lines):
            self._write(f"{label if number == 0 else '':<{_MARGIN}}{line}", tone)

    def _write(self, line: str, tone: str) -> None:  # noqa: ARG002 - the tone is for narrators with colours
        click.echo(line, file=self._stream)
        self._stream.flush()


class LiveNarrator(PlainNarrator):
    """The same lines in colour, above a board of the fleet. Starts no thread: the board moves when it is told to."""

    def __init__(self, clock: Clock, stream: TextIO) -> None:
        super().__init__(clock, stream)
        self._console = Console(file=stream, markup=False, emoji=False, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def board(self, seats: Callable[[], Sequence[Seat]]) -> None:
        line = Text("  ", no_wrap=True, overflow="ellipsis")
        for seat in seats():
            line.append("● " if seat.alive else "✗ ", "green" if seat.alive else "bold red")
            line.append(seat.name, "bold" if seat.on_duty else "")
            line.append(f" {'duty ' if seat.on_duty else ''}{seat.doing}".rstrip() + "   ", "dim")
        self._live.update(line, refresh=True)

    def close(self) -> None:
        self._live.stop()

    def _write(self, line: str, tone: str) -> None:
        self._console.print(Text(line, style=_STYLES.get(tone, "")), soft_wrap=True)


def narrator_for(stream: TextIO, clock: Clock) -> Narrator:
    """The narrator that fits the stream."""
    fancy = stream.isatty() and Console(file=stream).is_terminal and not Console(file=stream).is_dumb_terminal
    return LiveNarrator(clock, stream) if fancy else PlainNarrator(clock, stream)


def _shell_lines(words: Sequence[str], width: int) -> list[str]:
    """The command on as many lines as it needs, broken before an option so that a shell can read it."""
    lines, line = list[str](), "$"
    for word in _with_values(words):
        if len(line) + 1 + len(word) > width - 2 and line.strip():
            lines.append(line)
            line = "   "
        line = f"{line} {word}"
    return [f"{each} \\" for each in lines] + [line]


def _with_values(words: Sequence[str]) -> list[str]:
    """Options together with their values, quoted for a shell."""
    pieces = list[str]()
    for word in words:
        quoted = shlex.quote(word)
        if pieces and pieces[-1].startswith("--") and " " not in pieces[-1]:
            pieces[-1] += f" {quoted}"
        else:
            pieces.append(quoted)
    return pieces
