"""Every error a user can meet, under one root.

Each carries a stable, machine-readable ``code`` and one clear line. Expected outcomes (a lost lease, a tick
that already exists) are return values, never exceptions.
"""

from __future__ import annotations


class DulyError(Exception):
    """Root of all errors raised on purpose; ``code`` is stable, ``str()`` is one line fit for a user."""

    code = "error"


class InvalidField(DulyError):
    """A field holds something it must not; ``field`` names it, the message says what would be right."""

    code = "invalid_field"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class ScheduleNotFound(DulyError):
    """No schedule has this id."""

    code = "schedule_not_found"

    def __init__(self, schedule_id: str) -> None:
        super().__init__(f"no schedule '{schedule_id}'")
        self.schedule_id = schedule_id


class ScheduleExists(DulyError):
    """A schedule with this id is there already."""

    code = "schedule_exists"

    def __init__(self, schedule_id: str) -> None:
        super().__init__(f"schedule '{schedule_id}' exists already; use 'duly schedule update {schedule_id}'")
        self.schedule_id = schedule_id


class RevisionConflict(DulyError):
    """Somebody else changed the schedule since it was read; read it again and repeat the change."""

    code = "revision_conflict"

    def __init__(self, schedule_id: str) -> None:
        super().__init__(f"schedule '{schedule_id}' was changed meanwhile; look at it again and repeat")
        self.schedule_id = schedule_id


class OccurrenceNotFound(DulyError):
    """The schedule has no recorded occurrence at this tick."""

    code = "occurrence_not_found"

    def __init__(self, schedule_id: str, tick_ms: int) -> None:
        super().__init__(f"no occurrence {schedule_id}@{tick_ms} on record")
        self.schedule_id = schedule_id
        self.tick_ms = tick_ms


class Refused(DulyError):
    """The request is well-formed, but the state of the schedule or occurrence forbids it."""

    code = "refused"

    def __init__(self, message: str, *, code: str = "refused") -> None:
        super().__init__(message)
        self.code = code


class Held(Refused):
    """A HOLD stands in the way; a reviewer must resolve it first."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="held")


class StoreUnavailable(DulyError):
    """Redis could not be reached, or answered that it cannot serve; nothing is known of the last request."""

    code = "store_unavailable"


class StoreRefused(StoreUnavailable):
    """Redis answered that it cannot carry out this very request; others may go through."""

    code = "store_refused"


class StoreProtocolError(DulyError):
    """The store answered with a word this version does not know; the caller must assume nothing."""

    code = "store_protocol"
