"""What an attempt calls: of the definition that its occurrence was enqueued with, no more than that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from duly.common.errors import InvalidField


@dataclass(frozen=True, slots=True)
class Work:
    """``task`` is a name for the allow-list; ``args`` and ``kwargs`` are JSON values; nothing changes them."""

    task: str
    args: list[Any]
    kwargs: dict[str, Any]
    timeout_ms: int

    @classmethod
    def from_definition(cls, text: str) -> Work:
        """Read what `ScheduleDefinition.to_json` wrote; raises InvalidField when it is nothing that can be called.

        Whether it is a good schedule was asked when it was written, and is not asked again for every attempt.
        """
        try:
            fields = json.loads(text)
            work = cls(fields["task"], fields["args"], fields["kwargs"], fields["timeout_ms"])
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise InvalidField("definition", "is stored in a form that cannot be used") from error
        kinds = zip((work.task, work.args, work.kwargs, work.timeout_ms), (str, list, dict, int), strict=True)
        if not all(type(value) is kind for value, kind in kinds):
            raise InvalidField("definition", "is stored in a form that cannot be used")
        return work
