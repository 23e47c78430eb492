"""What a form can suggest from what the fleet says of itself. A suggestion is never needed to fill it in."""

from __future__ import annotations

from duly.common.errors import StoreUnavailable
from duly.common.explain.presence import present
from duly.common.store import Store

MOST_TASKS = 200


def known_tasks(store: Store) -> list[str]:
    """The tasks that workers say they know, in order; none while the store cannot say."""
    try:
        workers = present(store.fleet.snapshot()["workers"])
    except StoreUnavailable:
        return []
    told = (each["tasks"] for each in workers if isinstance(each.get("tasks"), list))
    return sorted({name for tasks in told for name in tasks if isinstance(name, str)})[:MOST_TASKS]
