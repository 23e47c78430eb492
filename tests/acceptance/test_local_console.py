"""The console beside a fleet that was started with one command: it is there, it comes back, and it is never needed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx2
import pytest

from duly.common.process import local_console
from duly.common.process.local import descendants
from duly.common.process.local_console import ConsoleRefused, LocalConsole
from tests.acceptance.story_processes import Programs, until, wait_for

pytestmark = [
    pytest.mark.fleet,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]
ICON = "/static/icon.svg"
NOT_INSTALLED = "No console: its packages are not installed: pip install 'duly[console]'"


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path)
    yield made
    made.end()
    assert made.left() == []


def up(programs: Programs, *words: str, **environ: str) -> tuple[Popen[bytes], dict[str, Any], Path]:
    """A running `duly up`, what it announced, and the log of all it says."""
    log = programs.folder / "log"
    process = programs.start("up", "--json", *words, log=log, **environ)
    wait_for(log, '"redis_url"', process)
    (line,) = (line for line in log.read_text("utf-8").splitlines() if line.startswith("{"))
    return process, json.loads(line), log


def interrupt(process: Popen[bytes]) -> int:
    process.send_signal(signal.SIGINT)
    return process.wait(60)


def serves(url: str, path: str = "/healthz") -> bool:
    """Whether the address answers well; `/healthz` does only with a store."""
    try:
        return bool(httpx2.get(f"{url}{path}", timeout=30).status_code == 200)
    except httpx2.TransportError:
        return False


def without_the_extra(folder: Path) -> dict[str, str]:
    """An environment in which the console's server cannot be imported."""
    (folder / "uvicorn.py").write_text("raise ImportError('blocked')\n")
    return {"PYTHONPATH": str(folder)}


def console_below(process: Popen[bytes]) -> int:
    """The console's process."""
    (found,) = (pid for pid in descendants(process.pid) if b"\0console\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    return found


def test_up_runs_a_console_which_comes_back_when_it_dies_and_stops_with_the_rest(programs: Programs) -> None:
    process, said, _ = up(programs)
    url = said["console_url"]
    assert serves(url)
    assert until(lambda: bool(httpx2.get(f"{url}/api/v1/fleet").json()["workers"]), 60)
    killed = console_below(process)
    os.kill(killed, signal.SIGKILL)
    assert until(lambda: serves(url), 60)
    assert console_below(process) != killed
    assert interrupt(process) == 0
    assert not serves(url)


def test_up_without_a_console_starts_none(programs: Programs) -> None:
    process, said, _ = up(programs, "--no-console")
    assert said["console_url"] is None
    assert [pid for pid in descendants(process.pid) if b"console" in Path(f"/proc/{pid}/cmdline").read_bytes()] == []
    assert interrupt(process) == 0


def test_a_port_that_is_taken_is_one_line_and_the_fleet_goes_on(programs: Programs) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process, said, log = up(programs, "--console-port", str(port))
        assert said["console_url"] is None
        wait_for(log, "holds the duty", process)
    lines = [line for line in log.read_text("utf-8").splitlines() if "console" in line and not line.startswith("{")]
    assert lines == [f"No console: cannot listen on 127.0.0.1 port {port}: address already in use"]
    assert interrupt(process) == 0


def test_an_up_without_the_extra_says_in_one_line_what_to_install_and_goes_on(
    programs: Programs, tmp_path: Path
) -> None:
    process, said, log = up(programs, **without_the_extra(tmp_path))
    assert said["console_url"] is None
    wait_for(log, "holds the duty", process)
    assert log.read_text("utf-8").count(NOT_INSTALLED) == 1
    assert interrupt(process) == 0
    assert "Traceback" not in log.read_text("utf-8")


def test_a_kept_demo_can_be_followed_from_its_beginning_and_goes_on_after_its_end(
    programs: Programs, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    demo = programs.start("demo", "--keep", log=log)
    wait_for(log, "1. Ticks and owners", demo)
    before = log.read_text("utf-8").partition("1. Ticks and owners")[0]
    url = re.findall(r"http://127\.0\.0\.1:\d+", before)[0]
    assert serves(url)
    wait_for(log, f"see {url}/schedules/publish/ticks/", demo)
    (told,) = re.findall(rf"see {url}(/schedules/publish/ticks/\d+)", log.read_text("utf-8"))
    assert "held" in httpx2.get(f"{url}{told}").text
    wait_for(log, "Ctrl+C stops it.", demo)
    assert url in log.read_text("utf-8").partition("All promises kept.")[2]
    schedules = httpx2.get(f"{url}/api/v1/periodic").json()["schedules"]
    assert {each["schedule_id"]: each["state"] for each in schedules} == dict.fromkeys(
        ("crawl", "docs", "publish"), "active"
    )
    assert interrupt(demo) == 0
    assert not serves(url)
    assert [line for line in log.read_text("utf-8").splitlines() if len(line) > 80] == []


def test_a_kept_demo_without_the_extra_says_in_one_line_what_to_install_and_goes_on(
    programs: Programs, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    demo = programs.start("demo", "--keep", log=log, **without_the_extra(tmp_path))
    wait_for(log, "holds the duty", demo)
    assert log.read_text("utf-8").splitlines().count(NOT_INSTALLED) == 1
    assert interrupt(demo) == 130


def test_the_usual_port_gives_way_to_a_free_one_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(local_console, "USUAL_PORT", port)
        console = LocalConsole(os.environ, tmp_path / "log")
        url = console.open()
        try:
            assert not url.endswith(f":{port}")
            assert serves(url, ICON)
            console.kill()
            console.start()
            assert until(lambda: serves(url, ICON), 60)
        finally:
            console.stop()
        assert not console.alive


def test_a_console_that_is_not_waited_for_does_not_run(tmp_path: Path) -> None:
    console = LocalConsole(os.environ, tmp_path / "log", 0)
    with pytest.raises(ConsoleRefused):
        console.open(given_up=lambda: True)
    assert not console.alive
