"""Whoever can write to Redis can name any function in a job; only allowed ones run."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
import redis
from rq.job import Job
from rq.serializers import JSONSerializer

from duly.common.store.jobs import ATTEMPT_FUNCTION
from duly.worker.allow_list import AllowList


def own_function() -> None: ...


not_a_function = "text"
borrowed = json.dumps
LIST = AllowList([__name__], ["json.loads", "shutil"])


@pytest.mark.parametrize("name", [ATTEMPT_FUNCTION, f"{__name__}.own_function", "json.loads", "shutil.copy"])
def test_ours_those_of_task_modules_and_those_allowed_by_name_may_run(name: str) -> None:
    assert LIST.permits(name)


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "json.dumps",
        f"{__name__}.borrowed",
        f"{__name__}.json.dumps",
        f"{__name__}.not_a_function",
        f"{__name__}.missing",
        f"{__name__}.AllowList",
        f"{__name__}",
        "shutil.os.system",
        "builtins.eval",
        "duly.worker.entry.install",
        "duly.worker.entry",
        "own_function",
        "",
        ".",
    ],
)
def test_everything_else_may_not(name: str) -> None:
    assert not LIST.permits(name)


def job(call: Any, data: bytes | None = None, **callbacks: str) -> Job:
    made = Job.create("x.y", connection=redis.Redis(), serializer=JSONSerializer)
    made.data = data if data is not None else json.dumps(call).encode()
    for name, value in callbacks.items():
        setattr(made, f"_{name}_name", value)
    return made


def test_a_permitted_job_is_not_refused() -> None:
    assert LIST.refusal(job([f"{__name__}.own_function", None, [], {}])) is None


@pytest.mark.parametrize("callback", ["success_callback", "failure_callback", "stopped_callback"])
def test_callbacks_are_functions_too(callback: str) -> None:
    permitted = [f"{__name__}.own_function", None, [], {}]
    assert "allow-list" in (LIST.refusal(job(permitted, **{callback: "os.system"})) or "")
    assert LIST.refusal(job(permitted, **{callback: f"{__name__}.own_function"})) is None


@pytest.mark.parametrize(
    "refused",
    [
        job(["os.system", None, ["true"], {}]),
        job(["system", {"an": "instance"}, [], {}]),
        job([7, None, [], {}]),
        job(None, pickle.dumps(("os.system", None, ("true",), {}))),
        job(None, b""),
        job(None, b"not json"),
        job({"a": 1}),
        job([]),
        job("text"),
        job(None, b"[" * 100_000),
    ],
)
def test_jobs_that_name_no_plain_function_in_json_are_refused_in_one_line(refused: Job) -> None:
    reason = LIST.refusal(refused)
    assert reason
    assert reason.startswith("not run:")
    assert "\n" not in reason
