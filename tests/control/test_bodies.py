"""What clients send: bounded and well-formed before anything parses it, and harmless whatever it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from duly.scheduler.control.guard import MAX_BODY
from duly.scheduler.control.problems import MOST_FAULTS
from tests.control.conftest import DOCS, ROOT, Api, faults, problem
from tests.store.conftest import Bench

HOSTILE = [
    "<script>alert(1)</script>",
    "a\r\nSet-Cookie: x=y",
    "\u202egnp.exe",
    "x" * MAX_BODY,
    "\ud800",
    "\x00",
    "../../",
]
JSON_TYPE = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "", None],
)
def test_the_api_takes_json_only(api: Api, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    response = api("POST", "periodic", content=json.dumps(DOCS).encode(), headers=headers)
    problem(response, 415, "not_json")
    assert api.get("periodic")["schedules"] == []


@pytest.mark.parametrize(
    "text",
    [
        b"{", b"", b"{'a': 1}", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 1, "a": 2}', b'{"x": {"b": 1, "b": 1}}',
        b"[" * 100_000, b'{"a":' * 70 + b"1" + b"}" * 70, b'{"a": "\xff"}', b'{"a": 1} x', b"\xef\xbb\xbf{}",
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"9" * 5_000 + b"}",
    ],
    ids=lambda text: str(text[:24]),
)  # fmt: skip
def test_what_a_lenient_reader_would_guess_at_is_refused(api: Api, text: bytes) -> None:
    response = api("POST", "periodic", content=text, headers=JSON_TYPE)
    if text:
        problem(response, 400, "malformed_json")
    else:
        problem(response, 422, "invalid_field")


@pytest.mark.parametrize("text", [b"[]", b"1", b'"x"', b"null", b"true"])
def test_what_is_no_object_is_named(api: Api, text: bytes) -> None:
    for method, path in (("POST", "periodic"), ("PUT", "periodic/docs"), ("POST", "periodic/docs/pause")):
        problem(api(method, path, content=text, headers=JSON_TYPE), 422, "invalid_field")


def chunks(size: int) -> Iterator[bytes]:
    yield b'{"schedule_id": "'
    for _ in range(size // 1024):
        yield b"x" * 1024
    yield b'"}'


def test_a_body_beyond_a_mebibyte_is_refused_whether_or_not_it_says_so(api: Api) -> None:
    problem(api("POST", "periodic", content=b"x" * (MAX_BODY + 1), headers=JSON_TYPE), 413, "too_large")
    problem(api("POST", "periodic", content=chunks(2 * MAX_BODY), headers=JSON_TYPE), 413, "too_large")
    problem(api("POST", "periodic", content=chunks(MAX_BODY // 2), headers=JSON_TYPE), 422, "invalid_field")


def test_a_body_is_refused_by_the_size_it_claims_before_any_of_it_comes(api: Api) -> None:
    def never() -> Iterator[bytes]:
        raise AssertionError("read")
        yield b""

    headers = {**JSON_TYPE, "Content-Length": "9" * 17}
    problem(api("POST", "periodic", content=never(), headers=headers), 413, "too_large")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize(
    "field", ["schedule_id", "spec", "task", "queue", "review_owner", "start_at", "missed_run_policy"]
)
def test_hostile_text_in_a_field_is_refused_and_named(api: Api, field: str, text: str) -> None:
    if (field, text) == ("review_owner", "../../") or (field, text) == ("review_owner", HOSTILE[0]):
        return  # a name may hold these; JSON says them harmlessly
    content = json.dumps({**DOCS, field: text}).encode()
    response = api("POST", "periodic", content=content, headers=JSON_TYPE)
    if len(content) > MAX_BODY:
        problem(response, 413, "too_large")
    elif text == "\ud800":
        problem(response, 400, "malformed_json")
    else:
        assert faults(problem(response, 422, "invalid_field"))[0].partition(".")[0] == field


@pytest.mark.parametrize("text", HOSTILE[:3] + HOSTILE[5:], ids=lambda text: repr(text[:12]))
def test_hostile_text_that_a_task_is_called_with_comes_back_as_it_was_and_in_ascii(api: Api, text: str) -> None:
    content = json.dumps({**DOCS, "kwargs": {text: text}}).encode()
    assert api("POST", "periodic", content=content, headers=JSON_TYPE).status_code == 201
    response = api("GET", "periodic/docs")
    assert response.content.isascii()
    assert response.headers["content-type"] == "application/json"
    assert json.loads(response.content)["kwargs"] == {text: text}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_notes_names_and_evidence_never_reach_the_record(api: Api, bench: Bench, text: str) -> None:
    api.add()
    for path, said in (
        ("periodic/docs/pause", {"note": text}),
        ("holds/docs/5/resolve", {"outcome": "committed", "by": text, "evidence": "x"}),
        ("holds/docs/5/resolve", {"outcome": "committed", "by": "x", "evidence": text}),
        ("holds/docs/5/approve", {"by": text}),
    ):
        response = api("POST", path, content=json.dumps(said).encode(), headers=JSON_TYPE)
        assert response.status_code in {200, 400, 404, 413, 422}
        if response.status_code == 200:
            assert text.isprintable()


@pytest.mark.parametrize("path", ["%00", "..%2f..", "%F0%9F%98%80", "a%0d%0ab", "A", "%ff", "x" * 65, "<b>"])
def test_hostile_ids_in_an_address_are_refused(api: Api, path: str) -> None:
    for method, rest in (("GET", ""), ("DELETE", ""), ("GET", "/runs"), ("POST", "/resume")):
        assert api.client.request(method, f"{ROOT}/periodic/{path}{rest}").status_code in {404, 422}


@pytest.mark.parametrize("tick", ["-1", "9" * 30, "x", "1.5", "253402300800000"])
def test_a_tick_that_is_no_instant_is_named(api: Api, tick: str) -> None:
    assert faults(problem(api("GET", f"periodic/docs/occurrences/{tick}"), 422, "invalid_field")) == ["tick_ms"]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "periodic"), ("PUT", "periodic/docs"), ("PATCH", "periodic/docs"),
                         ("POST", "periodic/docs/pause"), ("POST", "preview")]
)  # fmt: skip
def test_however_much_is_wrong_the_reply_is_short(api: Api, method: str, path: str) -> None:
    api.add()
    content = json.dumps({f"field{number}": number for number in range(20_000)}).encode()
    response = api(method, path, content=content, headers=JSON_TYPE)
    assert 10 < len(faults(problem(response, 422, "invalid_field"))) <= MOST_FAULTS
    assert len(response.content) < 10_000
