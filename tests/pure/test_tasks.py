"""The registry of tasks is the allow-list of what can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duly.common.errors import InvalidField
from duly.common.records.occurrence import Effects
from duly.worker import tasks
from duly.worker.tasks import find_task, import_task_modules, task, task_names


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_tasks", {})


def test_a_task_is_unsafe_unless_it_says_otherwise() -> None:
    @task("docs.refresh")
    def refresh() -> str:
        return "fresh"

    found = find_task("docs.refresh")
    assert found is not None
    assert found.effects is Effects.UNSAFE
    assert refresh() == "fresh"
    assert task_names() == ["docs.refresh"]


def test_an_unregistered_name_finds_nothing() -> None:
    assert find_task("os.system") is None


@pytest.mark.parametrize("name", ["", " ", "1x", "a b", "a/b", "x" * 129, "a\n", "ü"])
def test_an_unusable_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidField, match="task"):
        task(name)


def test_a_name_that_was_forgotten_is_asked_for() -> None:
    with pytest.raises(InvalidField, match=r'task: needs a name, as in @task\("docs.refresh"\)'):
        task(lambda: None)  # type: ignore[arg-type]


def test_a_guarded_task_needs_a_probe_and_nothing_else_takes_one() -> None:
    def probe(_key: str) -> str:
        return "UNKNOWN"

    with pytest.raises(InvalidField, match="probe"):
        task("a", effects="guarded")
    for effects in ("idempotent", "unsafe"):
        with pytest.raises(InvalidField, match="probe"):
            task("a", effects=effects, probe=probe)  # type: ignore[arg-type]
    task("a", effects="guarded", probe=probe)(lambda: None)


def test_unknown_effects_are_refused() -> None:
    with pytest.raises(InvalidField, match="effects: task 'a': must be 'idempotent', 'guarded' or 'unsafe'"):
        task("a", effects="harmless")  # type: ignore[arg-type]


def test_two_functions_cannot_share_a_name() -> None:
    def one() -> None: ...
    def two() -> None: ...

    task("a")(one)
    task("a")(one)  # a module that is imported again registers the same function again
    with pytest.raises(InvalidField, match="twice"):
        task("a")(two)


def test_a_module_that_cannot_be_imported_is_named_without_its_traceback(tmp_path: Any, monkeypatch: Any) -> None:
    (tmp_path / "broken_tasks.py").write_text("raise RuntimeError('password=hunter2')\n")
    (tmp_path / "typo_tasks.py").write_text("def (:\n")
    monkeypatch.chdir(tmp_path)
    for name, kind in (("broken_tasks", "RuntimeError"), ("typo_tasks", "SyntaxError"), ("nowhere", "ModuleNotFound")):
        with pytest.raises(InvalidField, match=kind) as refusal:
            import_task_modules([name])
        assert name in str(refusal.value)
        assert "hunter2" not in str(refusal.value)


def test_a_module_in_the_working_directory_is_found(tmp_path: Any, monkeypatch: Any) -> None:
    source = "from duly.worker import task\n@task('here.it_is')\ndef f(): ...\n"
    (tmp_path / "tasks_right_here.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    import_task_modules(["tasks_right_here"])
    assert find_task("here.it_is") is not None


def test_registering_needs_no_store() -> None:
    registered: Callable[[], int] = task("a")(lambda: 7)
    assert registered() == 7


def test_a_generator_is_refused_since_calling_it_would_run_nothing() -> None:
    def generator() -> Any:
        yield 1

    async def stream() -> Any:
        yield 1

    for function in (generator, stream):
        with pytest.raises(InvalidField, match="generator"):
            task("a")(function)
