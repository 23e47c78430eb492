"""A scheduler whose hooks cannot be had says so, and asks nobody for the duty."""

from __future__ import annotations

from pathlib import Path

import pytest

from duly.common.errors import InvalidField
from duly.common.process.roles import RoleOptions
from duly.common.settings import Settings
from duly.scheduler.hooks import load_hooks
from duly.scheduler.role import run


def test_a_hook_that_cannot_be_imported_is_one_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    assert run(Settings(redis_url="redis://nowhere.invalid", on_enqueue=("nosuch:hook",)), RoleOptions("a.s")) == 1
    assert caplog.messages == ["DULY_ON_ENQUEUE: 'nosuch:hook' cannot be imported; write package.module:callable"]


def test_a_hook_whose_module_raises_is_refused_like_one_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "myhooks_raising.py").write_text("1/0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InvalidField, match="'myhooks_raising:hook' cannot be imported"):
        load_hooks(["myhooks_raising:hook"])
