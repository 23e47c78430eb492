"""Where there is no browser, these tests say so once, and fail only where one is required."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHY = "playwright is not installed: make test EXTRAS=browser"


def run_without(folder: Path, **environ: str) -> tuple[int, list[str]]:
    """The tests in a browser, run where playwright cannot be imported: their exit code, and what was said."""
    (folder / "playwright.py").write_text("raise ImportError('blocked')\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DULY_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser", "-k", "in_a_browser"],
        cwd=ROOT,
        env={**kept, "PYTHONPATH": str(folder), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout.splitlines()


def test_they_are_skipped_with_one_line(tmp_path: Path) -> None:
    code, said = run_without(tmp_path)
    assert code == 0
    (line,) = (line for line in said if WHY in line)
    assert re.fullmatch(rf"\d+ skipped: {WHY}", line)


def test_they_fail_where_a_browser_is_required(tmp_path: Path) -> None:
    code, said = run_without(tmp_path, DULY_TEST_BROWSER="required")
    assert code == 1
    assert not [line for line in said if "skipped" in line]
    assert f"DULY_TEST_BROWSER=required, and {WHY}" in "\n".join(said)
