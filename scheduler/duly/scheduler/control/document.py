"""The OpenAPI document: every status that a route can answer with, and every body as it is."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from duly.common.identity import LAST_TICK_MS
from duly.common.records.definition import ScheduleDefinition
from duly.scheduler.control.problems import JSON, MEDIA_TYPE
from duly.scheduler.control.schemas import ID_PATTERN, ProblemBody

_REPLACED = "x-body"
_REF = "#/components/schemas/"
_ALWAYS = (401, 403, 503)
_WITH_BODY = (400, 413, 415, 422)
_SUMMARIES = {
    "put_schedule": "Write or replace schedule",
    "run_schedule": "Enqueue an extra run of a schedule",
    "preview_schedule": "Preview ticks of a schedule",
    "preview_spec": "Preview ticks of an expression",
    "health": "Show whether this process can serve",
    "metrics": "Show metrics for Prometheus",
}
"""Of the operations whose ids do not say it."""
_ABOUT = """Schedules of a fleet and what became of their ticks.

Instants are RFC 3339 text or, in fields called `..._ms`, epoch milliseconds. Lists are bounded; `next_cursor` is opaque
and leads to the next page. What is refused comes as an RFC 9457 problem whose `code` is stable. `duly console`
listens on loopback without a token; anywhere else every request but `/healthz` carries one."""

ScheduleId = Annotated[str, Path(pattern=ID_PATTERN, description="Identity of the schedule.")]
TickMs = Annotated[int, Path(ge=0, le=LAST_TICK_MS, description="The tick, in epoch milliseconds.")]
Limit = Annotated[int, Query(ge=1, le=100, description="Records at most.")]
Cursor = Annotated[str | None, Query(description="Where the page before said it goes on.")]


def problems(*statuses: int, body: bool = False) -> dict[int | str, dict[str, Any]]:
    """The problems that a route can answer with, those of every route included; ``body``: it takes one."""
    told = sorted({*statuses, *_ALWAYS, *(_WITH_BODY if body else ())})
    content = {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}ProblemBody"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in told}


def replaced_body(schema: str, *media_types: str) -> dict[str, Any]:
    """The body of a route that reads fields itself, for ``openapi_extra``."""
    content = {media: {"schema": {"$ref": f"{_REF}{schema}"}} for media in media_types or ("application/json",)}
    return {_REPLACED: {"content": content, "required": True}}


ETAG = {"ETag": {"description": "The schedule's revision, in quotes.", "schema": {"type": "string"}}}
LOCATION = {"Location": {"description": "Where it can be looked at.", "schema": {"type": "string"}}}


def install(app: FastAPI) -> None:
    """Serve the document at ``/openapi.json``."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    def serve() -> Response:
        return JSON(app.openapi())

    app.openapi = document  # type: ignore[method-assign]  # how FastAPI has its document replaced
    app.add_api_route("/openapi.json", serve, include_in_schema=False)


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    _, extra = models_json_schema(
        [(ProblemBody, "serialization"), (ScheduleDefinition, "validation")], ref_template=_REF + "{model}"
    )
    schemas.update(extra["$defs"])
    schemas["ScheduleChanges"] = _all_optional(schemas["ScheduleDefinition"])
    schemas["ScheduleFields"] = _without_id(schemas["ScheduleDefinition"])
    for operations in made["paths"].values():
        for operation in operations.values():
            operation["summary"] = _summary(operation["operationId"])
            if _REPLACED in operation:
                operation["requestBody"] = operation.pop(_REPLACED)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    made["security"] = [{"token": []}, {}]
    return made


def _summary(operation_id: str) -> str:
    """``List schedules`` for ``list_schedules``: as unique as the ids of the operations are."""
    return _SUMMARIES.get(operation_id) or operation_id.replace("_", " ").capitalize()


def _all_optional(definition: dict[str, Any]) -> dict[str, Any]:
    """A merge patch (RFC 7396) of a definition: nothing is required, and null gives a field its default."""
    properties = {
        name: {"anyOf": [_merged(name, field), {"type": "null"}]} for name, field in definition["properties"].items()
    }
    patch = {**definition, "title": "ScheduleChanges", "properties": properties, "minProperties": 1}
    patch.pop("required")
    return patch


def _merged(name: str, field: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object"} if name == "backoff" else {key: each for key, each in field.items() if key != "default"}


def _without_id(definition: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in definition["required"] if name != "schedule_id"]
    return {**definition, "title": "ScheduleFields", "required": required}
