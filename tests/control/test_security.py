"""Who may do what: tokens, sessions, other sites, other hosts, and what must never start."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.responses import Response

from duly.common.errors import InvalidField
from duly.scheduler.control.app import ROUTES, create_app
from duly.scheduler.control.security import Access, Actor, OpenToAll, is_loopback
from tests.control.conftest import DOCS, ORIGIN, Api, make, problem
from tests.store.conftest import Bench

TOKEN, READER = "correct-horse", "look-only"
PUBLIC = "http://console.example"


@pytest.fixture
def app(bench: Bench) -> FastAPI:
    """An application that needs a token, as on an address that others can reach."""
    return make(bench.store, host="0.0.0.0", token=TOKEN, read_token=READER)


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Method and path of every route that the document names, filled in, and of the document itself."""
    found = [
        (method.upper(), re.sub(r"\{tick_ms\}", "5", re.sub(r"\{(schedule|job)_id\}", "docs", path)))
        for path, operations in app.openapi()["paths"].items()
        for method in operations
    ]
    return [*found, ("GET", "/openapi.json"), ("GET", "/"), ("GET", "/nowhere"), ("POST", "/api/v1/nowhere")]


def is_change(method: str, path: str) -> bool:
    return method != "GET" and path != "/api/v1/preview"


def test_nothing_but_the_health_of_the_service_is_told_without_a_token(app: FastAPI) -> None:
    assert len(routes(app)) > 25
    for token in (None, "wrong", READER[:-1], TOKEN + "x"):
        api = Api(app, token, PUBLIC)
        for method, path in routes(app):
            response = api(method, path)
            if path == "/healthz":
                assert response.status_code == 200
            else:
                problem(response, 401, "unauthorized")
                assert response.headers["www-authenticate"] == "Bearer"


def test_a_read_only_token_reads_everything_and_changes_nothing(app: FastAPI, bench: Bench) -> None:
    Api(app, TOKEN, PUBLIC).add()
    api = Api(app, READER, PUBLIC)
    for method, path in routes(app):
        response = api(method, path)
        if is_change(method, path):
            problem(response, 403, "read_only")
        else:
            assert response.status_code not in {401, 403}, path
    assert bench.store.schedules.get("docs").revision == 1


@pytest.mark.parametrize("header", ["Basic Y29ycmVjdDpob3JzZQ==", "Bearer", "Bearer  ", TOKEN, f"Token {TOKEN}"])
def test_a_token_is_taken_as_a_bearers_only(app: FastAPI, header: str) -> None:
    problem(Api(app, None, PUBLIC)("GET", "fleet", headers={"Authorization": header}), 401, "unauthorized")


def test_a_token_with_characters_that_are_none_of_ours_is_just_wrong(app: FastAPI) -> None:
    headers = {"Authorization": b"Bearer \xff\xfe"}
    problem(Api(app, None, PUBLIC)("GET", "fleet", headers=headers), 401, "unauthorized")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "console.example", ""])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(OpenToAll, match="DULY_CONSOLE_TOKEN"):
        Access.from_environment(host, {})
    assert Access.from_environment(host, {"DULY_CONSOLE_TOKEN": "x"}).token_required


@pytest.mark.parametrize(
    "environ",
    [
        {"DULY_CONSOLE_TOKEN": "a b"},
        {"DULY_CONSOLE_TOKEN": "é"},
        {"DULY_CONSOLE_READ_TOKEN": "x"},
        {"DULY_CONSOLE_TOKEN": "x", "DULY_CONSOLE_READ_TOKEN": "x"},
    ],
    ids=str,
)
def test_tokens_that_cannot_work_are_refused(environ: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        Access.from_environment("127.0.0.1", environ)


def test_loopback_is_what_only_this_machine_reaches() -> None:
    assert all(is_loopback(host) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "localhost.example", "10.0.0.1", "127.1", ""))


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8787", "", "[::1", "a@localhost"]
)
def test_a_page_that_rebinds_its_name_to_loopback_is_refused(api: Api, host: str) -> None:
    for path in ("/healthz", "periodic", "/openapi.json", "/"):
        problem(api("GET", path, headers={"Host": host}), 403, "foreign_host")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8787", "[::1]:8787", "127.0.0.2:1"])
def test_every_name_of_loopback_is_served(api: Api, host: str) -> None:
    assert api("GET", "periodic", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:8787"},
    ],
    ids=str,
)
def test_a_page_of_another_site_changes_nothing(api: Api, headers: dict[str, str]) -> None:
    problem(api("POST", "periodic", json=DOCS, headers=headers), 403, "cross_site")
    problem(api("DELETE", "periodic/docs", headers=headers), 403, "cross_site")
    assert api.get("periodic")["schedules"] == []


@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1:8787", "Sec-Fetch-Site": "same-origin"}, {}], ids=str)
def test_the_consoles_own_pages_and_programs_change_things(api: Api, headers: dict[str, str]) -> None:
    assert api("POST", "periodic", json=DOCS, headers=headers).status_code == 201


def test_no_reply_lets_another_site_read_it(api: Api) -> None:
    response = api.client.options("/api/v1/periodic", headers={"Origin": "https://evil.example"})
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_every_reply_forbids_what_a_browser_might_make_of_it(api: Api) -> None:
    replies = [api("GET", path) for path in ("/healthz", "periodic", "/api/nowhere", "periodic/A", "/metrics")]
    for response in [*replies, api("GET", "periodic", headers={"Host": "evil"}), api("PUT", "fleet")]:
        assert response.headers["content-security-policy"].startswith("default-src 'none'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"


def test_a_session_is_begun_with_a_token_and_may_what_the_token_may(bench: Bench) -> None:
    app = make(bench.store, host="0.0.0.0", token=TOKEN, read_token=READER)
    access: Access = app.state.control.access
    assert access.issue("wrong") is None
    for token, status in ((TOKEN, 201), (READER, 403)):
        session = access.issue(token)
        assert session is not None
        assert TOKEN not in session
        api = Api(app, None, PUBLIC)
        api.client.cookies.set(access.session_cookie, session)
        assert api("GET", "fleet").status_code == 200
        assert api("POST", "periodic", json=DOCS).status_code == status


class _Clock:
    now_ms = 0.0

    def monotonic_ms(self) -> float:
        return self.now_ms


def test_a_session_ends_and_cannot_be_made_up() -> None:
    access = Access(token=TOKEN, read_token=READER, clock=_Clock())
    session = access.issue(READER) or ""
    assert access.verify(session) == Actor("session", may_change=False)
    forged = session.replace("read.", "change.", 1)
    other = Access(token=TOKEN, read_token=READER, clock=_Clock()).issue(TOKEN) or ""
    for made_up in (forged, other, "", ".", "...", session[:-1], session + "0", "a.b.c.d", "\udcff"):
        assert access.verify(made_up) is None
    access.clock.now_ms += 12 * 3_600_000  # type: ignore[attr-defined]
    assert access.verify(session) is None


def test_a_sessions_cookie_is_out_of_reach_of_scripts_and_of_other_sites() -> None:
    response = Response()
    Access(token=TOKEN).begin(response, "x", secure=True)
    assert {"HttpOnly", "SameSite=strict", "Secure", "Path=/"} <= set(response.headers["set-cookie"].split("; "))


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_there_is_no_page_that_loads_code_from_elsewhere(api: Api, path: str) -> None:
    problem(api("GET", path), 404, "not_found")


def test_what_nobody_expected_is_a_problem_without_its_words(
    api: Api, bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(api.app.state.control.store.fleet, "snapshot", broken)
    found = problem(api("GET", "fleet"), 503, "unexpected")
    assert "secret" not in str(found) + caplog.text
    assert "RuntimeError" in caplog.text


def test_every_route_is_in_the_document(api: Api) -> None:
    groups = [import_module(f"duly.scheduler.control.{name}").router for name in ROUTES]
    served = {(route.path, method.lower()) for router in groups for route in router.routes for method in route.methods}
    assert served == {(path, method) for path, operations in api.document["paths"].items() for method in operations}


def test_without_pages_the_root_points_to_the_api(bench: Bench) -> None:
    assert Api(create_app(bench.store, pages=False)).get("/")["api"] == "/api/v1"


def test_pages_beside_the_api_ask_for_themselves_who_it_is_and_the_api_asks_as_before(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duly.scheduler.control.app.CONSOLE", "tests.control.pages")
    api = Api(create_app(bench.store, access=Access(host="0.0.0.0", token=TOKEN)), None, PUBLIC)
    page = api("GET", "/")
    assert (page.status_code, page.text) == (200, "nobody")
    assert page.headers["content-security-policy"] == "default-src 'self'"
    assert "cache-control" not in page.headers
    for path in ("periodic", "/metrics", "/openapi.json", "/api", "/api/nowhere"):
        problem(api("GET", path), 401, "unauthorized")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert api("POST", "/form", content=b"a=1", headers=form).text == "a=1"
    problem(api("POST", "/form", content=b"a=1", headers={**form, "Origin": "http://evil.example"}), 403, "cross_site")
    problem(api("POST", "/form", content=b"x" * 2_000_000, headers=form), 413, "too_large")


@pytest.mark.parametrize("host", ["x/login?", "x/healthz#", "x/api/v1/preview?", "x@y", "[", "a b"])
def test_no_host_makes_a_path_look_like_another(app: FastAPI, host: str) -> None:
    headers = {"Host": host}
    problem(Api(app, None, PUBLIC)("GET", "periodic", headers=headers), 401, "unauthorized")
    problem(Api(app, READER, PUBLIC)("POST", "periodic", json=DOCS, headers=headers), 403, "read_only")


def test_behind_a_proxy_on_this_machine_a_token_takes_the_place_of_the_host(bench: Bench) -> None:
    api = Api(make(bench.store, token=TOKEN), TOKEN, PUBLIC)
    assert api("POST", "periodic", json=DOCS, headers={"Origin": "https://console.example"}).status_code == 201
    problem(Api(api.app, None, PUBLIC)("GET", "periodic"), 401, "unauthorized")


@pytest.mark.parametrize(
    "name",
    ["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "origin", "sec-fetch-site"],
)
def test_a_change_that_says_a_header_twice_is_not_guessed_at(api: Api, name: str) -> None:
    said = {"content-type": "application/json", "origin": ORIGIN, "sec-fetch-site": "same-origin"}.get(name, "*")
    headers = [(name, said), (name, "other"), ("idempotency-key", "k"), ("content-type", "application/json")]
    headers = [each for n, each in enumerate(headers) if n < 2 or each[0] != name]
    api.add()
    problem(api("POST", "periodic/docs/run", headers=headers, content=b"{}"), 400, "bad_header")
    assert [each["what"] for each in api.get("periodic/docs/changes")["changes"]] == ["created"]


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/periodic/docs", "/metrics", "/openapi.json", "/api/v1/nowhere"])
def test_head_is_answered_like_get_without_the_body(api: Api, path: str) -> None:
    api.add()
    asked, told = (api.client.request(method, path) for method in ("GET", "HEAD"))
    assert (told.status_code, told.content) == (asked.status_code, b"")
    for name in ("content-type", "content-length", "etag", "cache-control", "content-security-policy"):
        assert told.headers.get(name) == asked.headers.get(name)
