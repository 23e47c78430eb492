"""What a user says about a schedule, and every rule it must obey before it may be written."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from duly.common.errors import InvalidField
from duly.common.expression import Expression, ExpressionError, parse
from duly.common.identity import SCHEDULE_ID, canonical_json, work_digest
from duly.common.instant import to_ms, to_rfc3339
from duly.common.timetable import Timetable

MAX_ARGUMENT_BYTES = 64 * 1024
MAX_NESTING = 64
DAY_MS = 86_400_000


class MissedRunPolicy(StrEnum):
    """What becomes of ticks that came due while nobody swept."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    BACKFILL = "backfill"

    @property
    def coalesces(self) -> bool:
        """Whether a queued tick gives way to a newer one."""
        return self is not MissedRunPolicy.BACKFILL


class Overlap(StrEnum):
    """What a tick does while an earlier occurrence of its schedule is running."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    ALLOW = "allow"


def _printable(text: str) -> str:
    if any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in text):
        raise PydanticCustomError("text", "must be one line without control or direction characters")
    return text


def _instant(text: str) -> str:
    try:
        return to_rfc3339(to_ms(text, "instant"))
    except InvalidField as error:
        raise PydanticCustomError("instant", "{reason}", {"reason": str(error).partition(": ")[2]}) from error


Line = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_printable)
]
Instant = Annotated[str, AfterValidator(_instant)]


class Backoff(BaseModel):
    """Wait before attempt n+1: ``base_ms * factor ** (n - 1)``, at most ``max_ms``.

    The store computes it, with the failure, in `lua/lib/outcome.lua`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    base_ms: int = Field(1_000, ge=0, le=DAY_MS)
    factor: float = Field(2, ge=1, le=100, allow_inf_nan=False)
    max_ms: int = Field(300_000, ge=0, le=7 * DAY_MS)


class ScheduleDefinition(BaseModel):
    """The fields of a schedule that its owner sets. Immutable; every instance satisfies every rule.

    Build one with `define`, which reports the first broken rule as one InvalidField.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ignored_types=(cached_property,))

    schedule_id: Annotated[str, StringConstraints(pattern=rf"^{SCHEDULE_ID.pattern}$")]
    spec: str
    task: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$")]
    args: list[Any] = Field(default_factory=list)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    queue: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")] = "default"
    missed_run_policy: Literal["skip", "run_once", "backfill"]
    backfill_limit: int | None = Field(None, ge=1, le=1000)
    max_lateness_ms: int | None = Field(None, ge=1, le=366 * DAY_MS)
    jitter_window_ms: int = Field(0, ge=0, le=366 * DAY_MS)
    overlap: Literal["skip", "buffer_one", "allow"] = "skip"
    lease_ttl_ms: int = Field(30_000, ge=1_000, le=3_600_000)
    timeout_ms: int = Field(300_000, ge=100, le=7 * DAY_MS)
    retry_budget: int = Field(3, ge=1, le=100)
    backoff: Backoff = Field(default_factory=lambda: Backoff.model_validate({}))
    review_owner: Line
    approval: Literal["automatic", "required"] = "automatic"
    start_at: Instant | None = None
    end_at: Instant | None = None

    @property
    def policy(self) -> MissedRunPolicy:
        return MissedRunPolicy(self.missed_run_policy)

    @cached_property
    def expression(self) -> Expression:
        return parse(self.spec)

    @cached_property
    def timetable(self) -> Timetable:
        """The ticks of this schedule between its bounds, each with its release instant."""
        return Timetable(
            schedule_id=self.schedule_id,
            expression=self.expression,
            jitter_window_ms=self.jitter_window_ms,
            start_ms=to_ms(self.start_at, "start_at") if self.start_at else 0,
            end_ms=to_ms(self.end_at, "end_at") if self.end_at else None,
        )

    @cached_property
    def digest(self) -> str:
        """16 hex digits over what the task is called with."""
        return work_digest(self.task, self.args, self.kwargs)

    def to_json(self) -> str:
        """Canonical JSON, as the store keeps it."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, text: str) -> ScheduleDefinition:
        """Read what `to_json` wrote; raises InvalidField when it is not a valid definition."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidField("definition", "is not JSON") from error
        return define(fields)


def define(fields: Mapping[str, Any]) -> ScheduleDefinition:
    """A definition from plain JSON-like fields; raises InvalidField naming the first field at fault."""
    if not isinstance(fields, Mapping):
        raise InvalidField("schedule", "must be a table of fields")
    _check_arguments(fields)
    try:
        definition = ScheduleDefinition.model_validate(dict(fields))
    except ValidationError as error:
        raise _first_fault(error) from None
    _check_together(definition)
    return definition


def _check_arguments(fields: Mapping[str, Any]) -> None:
    size = 0
    for name, kind in (("args", list), ("kwargs", dict)):
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, kind):
            raise InvalidField(name, f"must be a JSON {'array' if kind is list else 'object'}")
        if _depth_exceeds(value, MAX_NESTING):
            raise InvalidField(name, f"must not be nested deeper than {MAX_NESTING} levels")
        size += _json_size(name, value)
    if size > MAX_ARGUMENT_BYTES:
        raise InvalidField("kwargs" if fields.get("kwargs") else "args", "args and kwargs may take 64 KiB as JSON")


def _json_size(name: str, value: Any) -> int:
    problem = InvalidField(name, "must hold nothing but JSON values (text as keys, no NaN, no infinity)")
    try:
        text = canonical_json(value)
        # What JSON would silently turn into something else (a tuple, a number as a key) is refused: the task must
        # be called with what was written.
        if json.loads(text) != value:
            raise problem
    except (TypeError, ValueError, RecursionError) as error:
        raise problem from error
    return len(text)


def _depth_exceeds(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        nested: list[Any] = []
        for each in layer:
            if isinstance(each, dict):
                nested.extend(each.values())
            elif isinstance(each, list):
                nested.extend(each)
        if not nested:
            return False
        layer = nested
    return True


def _check_together(definition: ScheduleDefinition) -> None:
    """The rules that need more than one field."""
    try:
        expression = definition.expression
    except ExpressionError as error:
        raise InvalidField(error.field, error.problem) from error
    if definition.jitter_window_ms and definition.jitter_window_ms >= expression.smallest_gap_ms():
        raise InvalidField(
            "jitter_window_ms",
            f"must be smaller than the smallest gap between ticks, {expression.smallest_gap_ms()} ms",
        )
    if definition.policy is MissedRunPolicy.BACKFILL and definition.backfill_limit is None:
        raise InvalidField("backfill_limit", "is required with missed_run_policy 'backfill' (1-1000)")
    if definition.policy is not MissedRunPolicy.BACKFILL and definition.backfill_limit is not None:
        raise InvalidField("backfill_limit", "goes with missed_run_policy 'backfill' only")
    if definition.backoff.max_ms < definition.backoff.base_ms:
        raise InvalidField("backoff.max_ms", "must not be smaller than backoff.base_ms")
    if definition.max_lateness_ms is not None and definition.max_lateness_ms <= definition.jitter_window_ms:
        raise InvalidField(
            "max_lateness_ms", "must be larger than jitter_window_ms, or jitter alone makes ticks too late"
        )
    if definition.start_at and definition.end_at and definition.timetable.end_before_start:
        raise InvalidField("end_at", "must be after start_at")


_PATTERNS = {
    "schedule_id": "must be 1-64 characters of a-z, 0-9, '_' and '-', starting with a letter or digit",
    "task": "must be a registered task name: letters, digits, '_', '.', ':' and '-', at most 128",
    "queue": "must be 1-64 letters, digits, '_', '.' and '-'",
}
_REQUIRED = {
    "missed_run_policy": "is required: skip, run_once or backfill (what happens to ticks missed while down)",
    "review_owner": "is required: who answers for occurrences that are held",
}

_EMPTY = {"review_owner": "must have at least 1 character: name who answers for occurrences that are held"}


def _first_fault(error: ValidationError) -> InvalidField:
    return faults_of(error)[0]


def faults_of(error: ValidationError) -> list[InvalidField]:
    """Every field at fault by itself, in the words of `define`."""
    return [_fault(each) for each in error.errors(include_url=False, include_input=False)]


def _fault(fault: ErrorDetails) -> InvalidField:
    field = ".".join(str(part) for part in fault["loc"]) or "schedule"
    kind = fault["type"]
    if kind == "missing":
        return InvalidField(field, _REQUIRED.get(field, "is required"))
    if kind == "extra_forbidden":
        return InvalidField(re.sub(r"[^\w.-]", "?", field, flags=re.ASCII)[:80], "is not a field of a schedule")
    if kind == "string_pattern_mismatch":
        return InvalidField(field, _PATTERNS.get(field, "has characters that are not allowed"))
    if kind == "string_too_short":
        return InvalidField(field, _EMPTY.get(field, "must have at least 1 character"))
    if kind == "string_too_long":
        return InvalidField(field, f"must be at most {fault['ctx']['max_length']} characters long")
    message = fault["msg"]
    return InvalidField(field, message[:1].lower() + message[1:])
