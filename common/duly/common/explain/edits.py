"""What an edit did to a schedule and to its ticks. Pure."""

from __future__ import annotations

from typing import Any

from duly.common.instant import to_rfc3339
from duly.common.store.schedules import Edit
from duly.common.timetable import TickRange


def told_edit(edit: Edit, *, dry_run: bool = False) -> dict[str, Any]:
    """The schedule after the edit, with what the edit did under ``edit``, as `--json` and the API print it."""
    before_ms, after_ms = edit.next_run_before_ms, edit.record.next_run_ms
    return {
        **edit.record.to_dict(),
        "edit": {
            "dry_run": dry_run,
            "next_run_before_ms": before_ms,
            "next_run_before_at": None if before_ms is None else to_rfc3339(before_ms),
            "next_run_ms": after_ms,
            "next_run_at": None if after_ms is None else to_rfc3339(after_ms),
            "carried": _range(edit.carried),
            "dropped": _range(edit.dropped),
        },
    }


def _range(ticks: TickRange | None) -> dict[str, Any] | None:
    if ticks is None:
        return None
    return {
        "count": ticks.count,
        "first_tick_ms": ticks.first_ms,
        "first_tick_at": to_rfc3339(ticks.first_ms),
        "last_tick_ms": ticks.last_ms,
        "last_tick_at": to_rfc3339(ticks.last_ms),
    }
