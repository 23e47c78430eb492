"""The control API in this process, on a store that the test holds in its hand.

Every reply that a test gets through `Api` is held against the OpenAPI document: its status must be in it, and its body
what the document says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import fakeredis
import jsonschema_rs
import pytest
import redis
from fastapi import FastAPI
from fastapi.testclient import TestClient

from duly.common.identity import Occurrence
from duly.common.store import Store
from duly.scheduler.control.app import create_app
from duly.scheduler.control.security import Access
from tests.acceptance.conftest import live_in
from tests.conftest import Backend
from tests.store.conftest import Bench

ORIGIN = "http://127.0.0.1:8787"
ROOT = "/api/v1"
DOCS: dict[str, Any] = {
    "schedule_id": "docs",
    "spec": "@every:60000",
    "task": "docs.refresh",
    "missed_run_policy": "run_once",
    "review_owner": "ann",
}
RESTATED: dict[str, Any] = {
    "missed_run_policy": "skip",
    "jitter_window_ms": 0,
    "lease_ttl_ms": 5_000,
    "retry_budget": 2,
    "backoff": {},
}


@cache
def _document() -> dict[str, Any]:
    """The document, which is the same for every application."""
    document: dict[str, Any] = make(Store(fakeredis.FakeRedis(decode_responses=True), shebang=False)).openapi()
    return document


@dataclass
class Api:
    """A client of one application; what is given as ``token`` goes with every request."""

    app: FastAPI
    token: str | None = None
    base_url: str = ORIGIN

    def __post_init__(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self.client = TestClient(self.app, base_url=self.base_url, headers=headers, follow_redirects=False)

    def __call__(self, method: str, path: str, **request: Any) -> Any:
        """A reply, held against the document. A path that starts with no slash is below the API's root."""
        path = path if path.startswith("/") else f"{ROOT}/{path}"
        response = self.client.request(method, path, **request)
        self.check(method, path, response)
        return response

    def get(self, path: str, **params: Any) -> Any:
        """The body of a GET that must succeed."""
        return body(self("GET", path, params={k: v for k, v in params.items() if v is not None}), 200)

    def post(self, path: str, json: Any = None, status: int = 200, **request: Any) -> Any:
        """The body of a POST that must end with this status."""
        return body(self("POST", path, **({} if json is None else {"json": json}), **request), status)

    def add(self, **fields: Any) -> dict[str, Any]:
        """A new schedule; fields override the defaults."""
        found: dict[str, Any] = self.post("periodic", {**DOCS, **fields}, 201)
        return found

    def pages(self, path: str, name: str, **params: Any) -> Iterator[list[dict[str, Any]]]:
        """All pages of a list, by its cursors."""
        cursor = None
        while True:
            page = self.get(path, cursor=cursor, **params)
            yield page[name]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    @property
    def document(self) -> dict[str, Any]:
        return _document()

    def check(self, method: str, path: str, response: Any) -> None:
        operation = self._operation(method, path)
        if operation is None:
            return
        told = operation["responses"].get(str(response.status_code))
        assert told is not None, f"{method} {path}: {response.status_code} is not in the document: {response.text}"
        content = told.get("content")
        if not content:
            assert response.content == b""
            return
        media = response.headers["content-type"].partition(";")[0]
        assert media in content
        if "json" in media:
            schema = {**content[media]["schema"], "components": self.document["components"]}
            jsonschema_rs.validator_for(schema).validate(response.json())

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        for template, operations in sorted(self.document["paths"].items(), key=lambda each: each[0].count("{")):
            if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path.partition("?")[0]):
                found: dict[str, Any] | None = operations.get(method.lower())
                return found
        return None


def body(response: Any, status: int) -> Any:
    """The body of a reply that must have this status."""
    assert response.status_code == status, response.text
    return response.json() if response.content else None


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The problem that a reply must be."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    found: dict[str, Any] = response.json()
    assert (response.status_code, found["status"], found["code"]) == (status, status, code), found
    assert found["type"] == "about:blank"
    assert found["detail"].isprintable()
    return found


def faults(found: Mapping[str, Any]) -> list[str]:
    """The fields that a problem names."""
    return [fault["field"] for fault in found["errors"]]


def make(store: Store, **access: Any) -> FastAPI:
    """The API without pages."""
    return create_app(store, access=Access(**access), pages=False)


@pytest.fixture
def bench(fake: Backend) -> Bench:
    """The fleet behind the API."""
    return Bench(fake, fake.store())


@pytest.fixture
def api(bench: Bench) -> Api:
    """The API on an empty store whose clock stands still."""
    return Api(make(bench.store))


@pytest.fixture
def lived_in(bench: Bench) -> Occurrence:
    """Something of everything has happened; the held occurrence of 'docs'."""
    return live_in(bench)


@contextmanager
def counted() -> Iterator[list[str]]:
    """The names of the commands that are sent to Redis meanwhile, a script being one."""
    sent: list[str] = []
    single, piped = redis.Redis.execute_command, redis.client.Pipeline.execute

    def execute_command(self: Any, *command: Any, **options: Any) -> Any:
        if not isinstance(self, redis.client.Pipeline):
            sent.append(str(command[0]))
        return single(self, *command, **options)

    def execute(self: Any, *args: Any, **options: Any) -> Any:
        sent.extend(str(command[0][0]) for command in self.command_stack)
        return piped(self, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redis.Redis, "execute_command", execute_command)
        patch.setattr(redis.client.Pipeline, "execute", execute)
        yield sent
