"""The demo's work: what it sees, what it reports, and how its journal refuses late owners."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from duly.common.demo.documents import copy_documents
from duly.common.demo.journal import Effect, Journal, StaleOwner
from duly.worker.demo import updater

FIRST = Effect("docs", 1_000, 1, 5, "docs@1000:aa", details={"files": 1, "changes": {}})


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "state" / "docs.jsonl")


def test_an_effect_is_committed_and_read_back(journal: Journal) -> None:
    assert journal.commit(FIRST) == (1, FIRST)
    assert journal.read() == [FIRST]


def test_a_key_that_was_served_has_no_second_effect(journal: Journal) -> None:
    journal.commit(FIRST)
    again = replace(FIRST, attempt=2, fencing_token=6, details={"files": 9, "changes": {"a": [1, 0]}})
    assert journal.commit(again) == (2, FIRST)
    assert journal.read()[1] == replace(FIRST, attempt=2, fencing_token=6, repeated=True)


def test_a_smaller_fencing_token_is_refused(journal: Journal) -> None:
    journal.commit(FIRST)
    with pytest.raises(StaleOwner):
        journal.commit(replace(FIRST, tick_ms=2_000, idempotency_key="docs@2000:aa", fencing_token=4))
    assert journal.read() == [FIRST]


def test_a_line_that_a_crash_cut_off_is_no_effect_and_spoils_none(journal: Journal) -> None:
    journal.commit(FIRST)
    with journal.path.open("a") as torn:
        torn.write('{"schedule_id": "do')
    assert journal.read() == [FIRST]
    second = replace(FIRST, tick_ms=2_000, idempotency_key="docs@2000:aa", fencing_token=6)
    assert journal.commit(second) == (2, second)
    assert journal.read() == [FIRST, second]


def test_an_outbox_keeps_no_memory(journal: Journal) -> None:
    assert [journal.append(FIRST), journal.append(FIRST)] == [1, 2]


def test_lines_added_and_removed_are_told_for_each_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\ntwo\n")
    (tmp_path / "b.toml").write_text("x = 1\n")
    before = updater.look(tmp_path)
    (tmp_path / "a.md").write_text("two\nthree\nfour\n")
    (tmp_path / "b.toml").unlink()
    (tmp_path / "c.md").write_text("new\n")
    changes = updater.compare(before, updater.look(tmp_path))
    assert changes == {"a.md": [2, 1], "b.toml": [0, 1], "c.md": [1, 0]}
    assert updater.summary({"files": 2, "changes": changes}) == "a.md +2 -1, b.toml +0 -1, c.md +1 -0"


def test_nothing_changed_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one\n")
    seen = updater.look(tmp_path)
    assert updater.compare(seen, updater.look(tmp_path)) == {}
    assert updater.compare(None, seen) == {}
    assert updater.summary({"files": 1, "changes": {}}) == "no change in 1 file"


def test_hidden_folders_and_other_kinds_of_files_are_not_looked_at(tmp_path: Path) -> None:
    for name in (".venv/a.md", "node_modules/a.md", "picture.png", "docs/guide.md", "Makefile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n")
    assert [path.relative_to(tmp_path).as_posix() for path in updater.documents(tmp_path)] == [
        "Makefile",
        "docs/guide.md",
    ]


def test_the_last_look_is_remembered_across_a_repeated_delivery(tmp_path: Path) -> None:
    state = updater.State(tmp_path, "docs")
    assert state.last_snapshot() is None
    old, new = {"a.md": {"sha256": "1", "lines": []}}, {"a.md": {"sha256": "2", "lines": []}}
    for number, seen in ((1, old), (2, new)):
        state.journal.commit(Effect("docs", number, 1, number, f"k{number}", details={"snapshot": state.keep(seen)}))
    state.journal.commit(Effect("docs", 1, 2, 3, "k1", details={"snapshot": state.keep(old)}))
    assert state.last_snapshot() == new


def test_the_repository_is_copied_and_edits_touch_only_the_copy(tmp_path: Path) -> None:
    source = tmp_path / "repository"
    (source / "common" / "duly").mkdir(parents=True)
    (source / "pyproject.toml").write_text('[project]\nname = "duly"\n')
    (source / "README.md").write_text("read me\n")
    copied = copy_documents(source, tmp_path / "copy")
    assert copied.names == ["README.md", "pyproject.toml"]
    assert copied.edit(0, "more") == "README.md"
    assert (source / "README.md").read_text() == "read me\n"
    assert (tmp_path / "copy" / "README.md").read_text() == "read me\nmore\n"


def test_elsewhere_the_installed_package_is_copied_and_never_the_users_files(tmp_path: Path) -> None:
    (tmp_path / "private.md").write_text("mine\n")
    copied = copy_documents(tmp_path, tmp_path / "copy")
    assert "errors.py" in copied.names
    assert "private.md" not in copied.names
