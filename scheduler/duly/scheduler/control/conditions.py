"""Conditional requests (RFC 9110, section 13): the entity tag of a schedule is its revision, in quotes. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus

from duly.scheduler.control.problems import Problem, Stopped

_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
_LIST = re.compile(rf"\s*{_TAG.pattern}\s*(?:,\s*{_TAG.pattern}\s*)*")


def etag(revision: int) -> str:
    """The entity tag of a schedule at this revision."""
    return f'"{revision}"'


@dataclass(frozen=True, slots=True)
class Condition:
    """What a condition names: any schedule that is there, or one at some revisions."""

    tags: Collection[str] | None
    """None is ``*``."""

    @classmethod
    def read(cls, header: str | None) -> Condition | None:
        """The condition of a header, None without one; raises Stopped (400) for a header that is none."""
        if header is None:
            return None
        if header.strip() == "*":
            return cls(None)
        if not _LIST.fullmatch(header):
            raise Stopped(
                Problem(HTTPStatus.BAD_REQUEST, "bad_condition", 'a condition must be * or entity tags such as "3"')
            )
        # A weak tag is never equal to a strong one, and ours are strong.
        return cls(frozenset(tag for tag in _TAG.findall(header) if not tag.startswith("W/")))

    def check(self, revision: int | None) -> None:
        """Raises Stopped (412) unless the schedule is there, and at a revision that is asked for."""
        if revision is None or not self.meets(revision):
            raise failed()

    def meets(self, revision: int) -> bool:
        """Whether a schedule at this revision is one that is named."""
        return self.tags is None or etag(revision) in self.tags


def failed() -> Stopped:
    """The schedule is not what the request was made for."""
    return Stopped(
        Problem(
            HTTPStatus.PRECONDITION_FAILED,
            "precondition_failed",
            "the schedule is not at the revision that the request was made for; look at it again and repeat the change",
        )
    )
