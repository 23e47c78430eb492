"""The frame of the project: which part may know which, and what must never be written."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLANES = {"common": ROOT / "common/duly", "scheduler": ROOT / "scheduler/duly", "worker": ROOT / "worker/duly"}
SOURCES = sorted(path for plane in PLANES.values() for path in plane.rglob("*.py"))
LUA = sorted(PLANES["common"].rglob("*.lua"))
PURE = [
    *sorted((ROOT / "common/duly/common/expression").rglob("*.py")),
    *sorted((ROOT / "common/duly/common/contract").rglob("*.py")),
]
CLI = ROOT / "common/duly/common/cli"
EXPLAIN = sorted((ROOT / "common/duly/common/explain").rglob("*.py"))
CLOCK = ROOT / "common/duly/common/clock.py"
KEYS = ROOT / "common/duly/common/store/keys.py"

CLOCK_READERS = {"now", "utcnow", "today"}
KEY_NAME = re.compile(r"(?<![\w/.])(duly|rq):(?=[\w*{<]|$)")
# Put together from two halves, or this file would be the first to break its own rule.
FORBIDDEN_PROMISE = re.compile(r"exactly[\s#*>_-]+" + "once", re.IGNORECASE)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports, at its top or inside a function, as an absolute name."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def belongs_to(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def clock_readings(path: Path) -> Iterator[str]:
    """Each use of something that reads this machine's clock: of `time` but its `sleep`, of `datetime` its now."""
    modules, taken, converters = set(), {"datetime", "date"}, set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or "time" for alias in node.names if alias.name == "time"}
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from (f"from time import {alias.name}" for alias in node.names if alias.name != "sleep")
        elif isinstance(node, ast.ImportFrom) and node.module == "datetime":
            taken |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and node.attr in {"gmtime", "localtime"}:
            converters.add(node)
    # Without an argument they read the clock; handed on, or called with one, they only convert an instant.
    bare = {node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and not node.args}
    harmless = converters - bare
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.Attribute) or node in harmless:
            continue
        owner = ast.unparse(node.value)
        of_time = owner in modules and node.attr != "sleep"
        of_datetime = owner.rpartition(".")[2] in taken and node.attr in CLOCK_READERS
        if of_time or of_datetime:
            yield f"{owner}.{node.attr}"


def docstrings(path: Path) -> set[ast.Constant]:
    """Strings that stand alone: docstrings of modules, classes, functions and attributes."""
    return {
        node.value
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }


def texts() -> list[Path]:
    """Everything people read: code, scripts, settings and documents."""
    kinds = {".py", ".lua", ".md", ".toml", ".yaml", ".yml", ".conf", ".html", ".js", ".css", ".txt"}
    folders = ["common", "scheduler", "worker", "tests", "compose", "docs", ".ci"]
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    names = ["Makefile", ".ci/run", "compose/Dockerfile", "LICENSE"]
    found += [*ROOT.glob("*.md"), *ROOT.glob("*.toml"), *(ROOT / name for name in names)]
    return sorted({path for path in found if path.is_file()})


def offences(paths: Iterable[Path], find: Callable[[Path], Iterable[object]]) -> dict[str, list[object]]:
    """What `find` finds in each file, without the files in which it finds nothing."""
    found = {str(path.relative_to(ROOT)): list(find(path)) for path in paths}
    return {name: each for name, each in found.items() if each}


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 30
    assert len(LUA) > 10
    assert len(PURE) > 8


def test_duly_is_a_namespace_that_no_part_claims() -> None:
    assert [str(path) for plane in PLANES.values() for path in plane.glob("__init__.py")] == []


def test_each_part_holds_only_its_own_package() -> None:
    held = {
        plane: {path.relative_to(folder).parts[0] for path in folder.rglob("*.py")} for plane, folder in PLANES.items()
    }
    assert held == {plane: {plane} for plane in PLANES}


def test_the_evidence_plane_imports_neither_other_plane_and_these_not_each_other() -> None:
    def crossings(path: Path) -> list[str]:
        own = path.relative_to(ROOT).parts[0]
        forbidden = [f"duly.{other}" for other in PLANES if other not in {"common", own}]
        return [name for name in imports(path) if any(belongs_to(name, each) for each in forbidden)]

    assert offences(SOURCES, crossings) == {}


def test_expressions_and_the_contract_know_no_store_no_command_line_and_no_clock() -> None:
    outside = ["redis", "rq", "click", "time", "duly.common.store", "duly.common.clock", "duly.common.cli"]
    assert offences(PURE, lambda path: {n for n in imports(path) if any(belongs_to(n, each) for each in outside)}) == {}
    assert offences(PURE, clock_readings) == {}


def test_only_the_command_line_imports_the_command_line() -> None:
    others = [path for path in SOURCES if CLI not in path.parents]
    assert len(SOURCES) > len(others) > 30
    assert offences(others, lambda path: {n for n in imports(path) if belongs_to(n, "duly.common.cli")}) == {}


def test_what_all_surfaces_say_knows_no_terminal_and_no_page() -> None:
    def drawing(path: Path) -> set[str]:
        outside = ["click", "rich", "jinja2", "fastapi", "starlette", "sys"]
        return {name for name in imports(path) if any(belongs_to(name, each) for each in outside)}

    assert len(EXPLAIN) > 8
    assert offences(EXPLAIN, drawing) == {}


def test_no_module_takes_what_another_keeps_to_itself() -> None:
    def taken(path: Path) -> list[str]:
        nodes = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom)]
        names = [alias.name for node in nodes for alias in node.names if (node.module or "").startswith("duly")]
        return [name for name in names if name.startswith("_")]

    assert offences(SOURCES, taken) == {}


def test_only_the_clock_reads_a_clock() -> None:
    assert offences([path for path in SOURCES if path != CLOCK], clock_readings) == {}


def test_a_clock_that_is_read_would_be_noticed(tmp_path: Path) -> None:
    source = tmp_path / "reader.py"
    source.write_text(
        "import time, datetime as dt\nimport time as t\nfrom time import monotonic, sleep\n"
        "from datetime import datetime\n"
        "time.time(); t.perf_counter(); time.sleep(1); datetime.now(); dt.datetime.utcnow(); dt.date.today()\n"
        "clock = time.monotonic; time.gmtime(); time.gmtime(0); convert = time.gmtime\n"
    )
    assert sorted(clock_readings(source)) == [
        "datetime.now",
        "dt.date.today",
        "dt.datetime.utcnow",
        "from time import monotonic",
        "t.perf_counter",
        "time.gmtime",
        "time.monotonic",
        "time.time",
    ]


def test_no_file_is_named_after_nothing() -> None:
    nameless = {"util", "utils", "helper", "helpers", "model", "models", "manager", "managers", "misc"}
    assert offences(SOURCES, lambda path: nameless & {*path.relative_to(ROOT).with_suffix("").parts}) == {}


def test_only_one_module_spells_the_names_of_keys() -> None:
    def spelled(path: Path) -> list[str]:
        constants = {node for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)} - docstrings(path)
        return [node.value for node in constants if isinstance(node.value, str) and KEY_NAME.search(node.value)]

    assert offences([path for path in SOURCES if path != KEYS], spelled) == {}
    assert spelled(KEYS) == []  # not even there: the first part is the fleet's prefix, and RQ's come from RQ


def test_no_script_spells_the_name_of_a_key() -> None:
    def spelled(path: Path) -> list[str]:
        lines = path.read_text("utf-8").splitlines()
        return [line for line in lines if not line.lstrip().startswith("--") and re.search("[\"'](duly|rq):", line)]

    assert offences(LUA, spelled) == {}


def test_every_answer_about_an_attempt_is_explained_where_it_is_spelled() -> None:
    module = tree(ROOT / "common/duly/common/store/attempts.py")
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    words = [each for each in classes if any(isinstance(b, ast.Name) and b.id == "StrEnum" for b in each.bases)]
    assert {each.name for each in words} == {"Claim", "Ending", "Carried"}
    for each in words:
        spelled = [ast.unparse(node) for node in each.body if isinstance(node, ast.Assign)]
        explained = [ast.unparse(a) for a, b in pairwise(each.body) if isinstance(b, ast.Expr)]
        assert [word for word in spelled if word not in explained] == []


def test_no_failure_is_swallowed_unseen() -> None:
    def silent(path: Path) -> Iterator[int]:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler) and all(isinstance(e, ast.Pass | ast.Continue) for e in node.body):
                caught = "Exception" if node.type is None else ast.unparse(node.type)
                if caught in {"Exception", "BaseException"}:
                    yield node.lineno

    assert offences(SOURCES, silent) == {}


def test_nothing_promises_what_no_scheduler_can_keep() -> None:
    assert offences(texts(), lambda path: FORBIDDEN_PROMISE.findall(path.read_text("utf-8"))) == {}


def test_the_wheel_holds_all_three_parts_their_scripts_and_their_types(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed; 'make test' installs it")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    (wheel,) = tmp_path.glob("duly-*-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for part, folder in PLANES.items():
        kept = {
            path.relative_to(folder.parent).as_posix()
            for path in folder.rglob("*")
            if path.suffix in {".py", ".lua", ".html", ".css", ".js"} or path.name == "py.typed"
        }
        assert kept <= names, f"{part} is incomplete"
        assert f"duly/{part}/py.typed" in names
    assert "duly/__init__.py" not in names
    assert {name.split("/")[0] for name in names} == {
        "duly",
        wheel.name.removesuffix("-py3-none-any.whl") + ".dist-info",
    }
    assert any(name.endswith("/licenses/LICENSE") for name in names)
