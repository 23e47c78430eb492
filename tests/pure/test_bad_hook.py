"""A scheduler whose hooks cannot be had says so, and asks nobody for the duty."""

from __future__ import annotations

import pytest

from duly.common.process.roles import RoleOptions
from duly.common.settings import Settings
from duly.scheduler.role import run


def test_a_hook_that_cannot_be_imported_is_one_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    assert run(Settings(redis_url="redis://nowhere.invalid", on_enqueue=("nosuch:hook",)), RoleOptions("a.s")) == 1
    assert caplog.messages == ["DULY_ON_ENQUEUE: 'nosuch:hook' cannot be imported; write package.module:callable"]
