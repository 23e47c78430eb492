"""Malformed input: one clear line, exit 1 or 2, and not one key of the store touched."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.conftest import ADD, Cli, key_space, live_in
from tests.conftest import Backend, fake_backend
from tests.store.conftest import Bench


@dataclass(frozen=True)
class Case:
    """One invocation. ``content`` is what the file named by ``{file}`` holds."""

    args: tuple[str, ...]
    content: bytes = b""


def add(*options: str, **instead: str) -> tuple[str, ...]:
    """`schedule add` with one option replaced or more given."""
    base = dict(zip(ADD[::2], ADD[1::2], strict=True)) | {
        f"--{name.replace('_', '-')}": value for name, value in instead.items()
    }
    return ("schedule", "add", "new", *[word for pair in base.items() for word in pair], *options)


IDS = [
    "", " ", "A", "a b", "ä", "a" * 65, "a@1", "a/b", "a:b", "../x", "a\n", "a\x00", "a\x1b[31m", "_a", ".a", "a.b",
    "a%", "[a]", "１", "a\u202eb", "\ud800", "'", "a,b", "*", "docs ",
]  # fmt: skip
SPECS = [
    "", " ", "@every:", "@every:0", "@every:99", "@every:-1000", "@every:+1000", "@every:1e3", "@every:5m",
    "@every:31622400001", "@every 1000", "@daily", "@hourly", "@reboot", "* * * *", "* * * * * * *", "60 * * * *",
    "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "0 0 30 2 *", "5-1 * * * *", "*/0 * * * *",
    "*/61 * * * *", "a * * * *", "H * * * *", "* * L * *", "* * * * 1#2", "* * 15W * *", "TZ=UTC * * * * *",
    "CRON_TZ=Mars/Base * * * * *", "CRON_TZ=UTC @every:1000", "CRON_TZ= * * * * *", "CRON_TZ=../etc/passwd * * * * *",
    "0\t9 * * *", "0 9 * * *\n", "0 9 * * MONDAY", "0,, 9 * * *", "0 9 * * * " + "x" * 128, "٠ 9 * * *",
]  # fmt: skip
ARGUMENTS = [
    "", "{", "}", "nope", "[", "[1,]", "'a'", "[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", '{"a": 1}', "1", "null",
    '"text"', "[01]", "[1] 2", '["\t"]', "[" * 100_000, "[" * 66 + "]" * 66, '["' + "x" * 65_600 + '"]',
    "[" + "1" * 5000 + "]", " " * 300_000, '[{"a": 1, "a": 2}]', "[\ud800]",
]  # fmt: skip
KEYWORDS = [
    "", "{", "[]", "[1]", "1", "null", "{1: 2}", '{"a": NaN}', '{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}',
    "{'a': 1}", '{"a"}', '{"a": 1,}', '{"a": -Infinity}', '{"a":' * 5000, '{"a": "' + "x" * 65_600 + '"}',
    '{"a": 1}{"b": 2}', '{"a": 1e999}',
]  # fmt: skip
BACKOFFS = [
    "", "[]", "1", "{", '{"base_ms": "1"}', '{"base_ms": -1}', '{"factor": 0.5}', '{"factor": NaN}',
    '{"factor": 1e999}', '{"max_ms": 1, "base_ms": 2}', '{"more": 1}', '{"base_ms": null}', '{"base_ms": 1.5}',
    '{"base_ms": 99999999999}', '{"base_ms": 1, "base_ms": 2}',
]  # fmt: skip
NUMBERS = {
    "backfill-limit": ["1"],
    "max-lateness-ms": ["0", "-1", "x", "1.5", "99999999999999"],
    "jitter-window-ms": ["-1", "60000", "x", "1e3"],
    "lease-ttl-ms": ["999", "3600001", "x", ""],
    "timeout-ms": ["99", "604800001", "9" * 5000],
    "retry-budget": ["0", "101", "-5", "three"],
    "backoff-base-ms": ["-1", "x"],
    "backoff-factor": ["0", "nan", "inf", "x", "101"],
    "backoff-max-ms": ["-1", "604800001", "999"],
}
INSTANTS = [
    "", "now", "tomorrow", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00", "2026-13-01T00:00:00Z",
    "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z", "1960-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "1767225600000",
    "2026-01-01T00:00:00+99:00", "2026-01-01T00:00:00Z\n", "２026-01-01T00:00:00Z",
]  # fmt: skip
TICKS = ["", "x", "-1", "1.5", "1e3", "9" * 16, "9" * 5000, "１", "2026-01-01", "0x10", "²", "1767225600001"]
CURSORS = [
    "", "x", "!!!!", "====", "Zm9v=", "\ud800", "é", "A" * 500, base64.urlsafe_b64encode(b"UPPER").decode().rstrip("="),
    base64.urlsafe_b64encode(b"0-0").decode() + "\n", base64.urlsafe_b64encode(b"-5").decode(), "Zm9v\x00",
]  # fmt: skip
NOTES = ["", " ", "a\nb", "\x1b[31mred", "x" * 501, "a\u202eb", "\ud800", "a\x00"]
TABLE = b'[[schedule]]\nschedule_id = "s"\nspec = "@every:60000"\ntask = "t"\nmissed_run_policy = "skip"\n'
WHOLE = TABLE + b'review_owner = "ann"\n'
FILES = [
    b"\x00", b"\xff\xfe", b"\xc3", b"[", b"[[schedule]", b"[schedule]\n", b"schedule = 1\n", b"schedule = [1]\n",
    b"other = 1\n", b"[[schedules]]\n", b"[[schedule]]\n", TABLE, WHOLE + WHOLE, WHOLE + b"colour = 1\n",
    WHOLE + b'state = "held"\n', WHOLE + b'state = "paused"\n', WHOLE + b'state = "paused"\nnote = ""\n',
    WHOLE + b'state = "paused"\nnote = "a\\nb"\n', WHOLE + b"state = 1\n", WHOLE + b'note = "x"\n',
    WHOLE + b'paused_until = "2027-01-01T00:00:00Z"\n', WHOLE + b"start_at = 2026-01-01\n",
    WHOLE + b"start_at = 2026-01-01T00:00:00\n", WHOLE + b"kwargs = 1\n", WHOLE + b"kwargs = { at = 2026-01-01 }\n",
    WHOLE + b"kwargs = { x = nan }\n", WHOLE + b"kwargs = { x = inf }\n", WHOLE + b"args = {}\n",
    WHOLE + b"args_json = 1\n", WHOLE + b"args_json = '{}'\n", WHOLE + b"args = []\nargs_json = '[]'\n",
    WHOLE + b"kwargs_json = '{\"a\": 1, \"a\": 2}'\n", WHOLE + b"retry_budget = 1.5\n", WHOLE + b"backoff = 3\n",
    WHOLE + b"backoff = { base = 1 }\n", WHOLE + b"lease_ttl_ms = '3000'\n", WHOLE + b"queue = 'a b'\n",
    WHOLE + b"args = " + b"[" * 5000 + b"]" * 5000, WHOLE.replace(b"t\"", b"t\x1b\"", 1),
    WHOLE.replace(b'"s"', b"7"), WHOLE.replace(b'"s"', b'"S"'), WHOLE + TABLE.replace(b'"s"', b'"r"'),
    b"#" * (10 * 1024 * 1024 + 1),
]  # fmt: skip
RESOLVE = ("hold", "resolve", "docs", "{held}", "--outcome", "abandoned", "--by", "ann", "--evidence", "ticket 1")


def resolve(**instead: str) -> tuple[str, ...]:
    words = list(RESOLVE)
    for name, value in instead.items():
        words[words.index(f"--{name}") + 1] = value
    return tuple(words)


USAGE = [
    ("frobnicate",), ("--frobnicate",), ("schedule", "frob"), ("schedule", "show"), ("schedule", "show", "a", "b"),
    ("schedule", "list", "--limit", "0"), ("schedule", "list", "--limit", "101"), ("schedule", "list", "--limit", "x"),
    ("events",), ("events", "docs", "--limit", "-1"), ("runs", "--limit", "1000"), ("holds", "--limit", ""),
    ("run", "docs"), ("run",), ("schedule", "pause", "docs"), ("schedule", "pause", "docs", "--note"),
    ("schedule", "preview"), ("schedule", "preview", "0 9 * * *", "--count", "0"),
    ("schedule", "preview", "0 9 * * *", "--count", "1001"), ("schedule", "resume", "paused", "--catch-up", "all"),
    ("schedule", "sync"), ("schedule", "sync", "{file}.missing"), ("schedule", "sync", "/"),
    ("schedule", "sync", "a\x00b"), ("schedule", "update", "docs"), ("schedule", "update", "nobody", "--queue", "q"),
    ("schedule", "update", "docs", "--revision", "x", "--queue", "q"),
    ("schedule", "update", "docs", "--revision", "99", "--queue", "q"), ("schedule", "resume", "docs"),
    ("schedule", "resume", "nobody"), ("schedule", "delete", "nobody"), ("schedule", "pause", "nobody", "--note", "n"),
    ("schedule", "delete", "docs", "--revision", "99"), ("run", "nobody", "--idempotency-key", "k"),
    ("run", "feed", "--idempotency-key", ""), ("run", "feed", "--idempotency-key", "x" * 201),
    ("run", "feed", "--idempotency-key", "a\nb"), ("run", "feed", "--idempotency-key", "\ud800"),
    ("run", "paused", "--idempotency-key", "k"), ("events", "nobody"), ("runs", "nobody"),
    ("runs", "--follow", "--cursor", "MS0x"), ("occurrence", "nobody", "1"), ("occurrence", "docs"),
    ("completion", "tcsh"),
    ("worker",), ("worker", "-m", "x", "--concurrency", "0"), ("worker", "-m", "x", "--name", "a b"),
    ("worker", "-m", "x", "--queue", "a b"), ("worker", "-m", "x", "--log-level", "LOUD"), ("worker", "-m", "a b"),
    ("worker", "-m", "x", "--stop-grace-ms", "-1"), ("scheduler", "--name", ""), ("scheduler", "--log-level", ""),
    ("hold", "resolve", "docs"), ("hold", "resolve", "docs", "{held}"), ("hold", "resolve", "feed", *RESOLVE[3:]),
    (*RESOLVE, "--extra-attempts", "-1"), (*RESOLVE, "--extra-attempts", "101"), (*RESOLVE, "--extra-attempts", "x"),
    ("schedule", "update", "docs", "--no-end-at", "--end-at", "2027-01-01T00:00:00Z"),
]  # fmt: skip


def cases() -> Iterator[Case]:
    for bad in IDS:
        yield Case(("schedule", "show", bad))
        yield Case(("schedule", "add", bad, *ADD))
        yield Case(("events", bad))
        yield Case(("occurrence", bad, "1767225660000"))
        yield Case(("run", bad, "--idempotency-key", "k"))
    for bad in SPECS:
        yield Case(add(spec=bad))
        yield Case(("schedule", "update", "docs", "--spec", bad))
        yield Case(("schedule", "preview", bad))
    yield from (Case(add("--args", bad)) for bad in ARGUMENTS)
    yield from (Case(add("--kwargs", bad)) for bad in KEYWORDS)
    yield from (Case(("schedule", "update", "docs", "--kwargs", bad)) for bad in KEYWORDS)
    yield from (Case(add("--backoff", bad)) for bad in BACKOFFS)
    for name, numbers in NUMBERS.items():
        yield from (Case(add(f"--{name}", bad)) for bad in numbers)
    for bad in INSTANTS:
        yield Case(add("--start-at", bad))
        yield Case(("schedule", "update", "docs", "--end-at", bad))
        yield Case(("schedule", "pause", "docs", "--note", "n", "--until", bad))
        yield Case(("schedule", "preview", "0 9 * * *", "--after", bad))
    yield Case(("schedule", "pause", "docs", "--note", "n", "--until", "2020-01-01T00:00:00Z"))
    yield from (Case(add(missed_run_policy=bad)) for bad in ["", "none", "SKIP ", "backfill", "run-once"])
    yield from (Case(add(review_owner=bad)) for bad in ["", " ", "a\nb", "x" * 201, "\x1b", "a\u202eb"])
    yield from (Case(add(task=bad)) for bad in ["", "a b", "1a", "x" * 129, "os;system", "a\n"])
    yield from (Case(add("--queue", bad)) for bad in ["", "a b", "a:b", "x" * 65, "ü"])
    yield from (Case(add(f"--{name}", "sometimes")) for name in ("overlap", "approval"))
    yield from (Case(("occurrence", "docs", bad)) for bad in TICKS)
    yield from (Case(("hold", "resolve", "docs", bad, *RESOLVE[4:])) for bad in TICKS)
    for bad in CURSORS:
        yield Case(("schedule", "list", "--cursor", bad))
        yield Case(("events", "docs", "--cursor", bad))
        yield Case(("runs", "--cursor", bad))
        yield Case(("holds", "--cursor", bad))
    yield from (Case(("schedule", "pause", "docs", "--note", bad)) for bad in NOTES)
    yield from (Case(("schedule", "sync", "{file}"), content) for content in FILES)
    yield from (Case(resolve(outcome=bad)) for bad in ["", "ok", "COMMITTED"])
    yield from (Case(resolve(by=bad)) for bad in ["", " ", "a\nb", "x" * 201, "\x1b"])
    yield from (Case(resolve(evidence=bad)) for bad in ["", " ", "a\nb", "x" * 501, "\ud800"])
    yield from map(Case, USAGE)
    yield from (
        Case(("--redis-url", bad, "holds")) for bad in ["x", "http://a", "redis://h:port", "redis://", "unix://"][:3]
    )


CASES = list(cases())


@pytest.fixture(scope="module")
def server() -> Iterator[Backend]:
    yield from fake_backend()


@pytest.fixture(scope="module")
def held_tick(server: Backend) -> int:
    return live_in(Bench(server, server.store())).tick_ms


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{c.args[0][:12]!a}" for n, c in enumerate(CASES)])
def test_malformed_input_is_refused_in_one_line_and_changes_nothing(
    case: Case, server: Backend, held_tick: int, tmp_path: Path
) -> None:
    file = tmp_path / "input.toml"
    file.write_bytes(case.content)
    args = [arg.replace("{file}", str(file)).replace("{held}", str(held_tick)) for arg in case.args]
    connects = "--redis-url" in args
    before = key_space(server.client)
    assert before, "a store that something has happened in"
    result = Cli(None if connects else server.store())(*args)
    assert result.exit_code in {1, 2}, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("duly: ")
    assert result.stderr.endswith("\n")
    line = result.stderr[:-1]
    assert line.isprintable(), line
    assert 20 <= len(line) <= 700
    assert "Traceback" not in line
    assert "DULY_DEBUG" not in line, "an error that nobody foresaw"
    assert key_space(server.client) == before


def test_there_are_at_least_two_hundred_of_them() -> None:
    assert len(CASES) >= 200
