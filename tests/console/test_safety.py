"""Hostile text is harmless, forms are ours alone, tokens decide who may do what, and Redis may go and come back."""

from __future__ import annotations

from typing import Any

import fakeredis
import pytest

from duly.common.store import Store
from duly.scheduler.control.security import Access
from tests.acceptance.conftest import live_in
from tests.console.conftest import Console, console_on
from tests.console.test_actions import held
from tests.console.test_pages import check, lived_in_pages
from tests.store.conftest import Bench

SCRIPT = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }} &amp;"
ACCESS = Access(host="0.0.0.0", token="write-token", read_token="read-token")


def test_hostile_text_in_every_field_is_shown_as_text(console: Console, bench: Bench) -> None:
    bench.add(review_owner=SCRIPT, kwargs={"path": SCRIPT, SCRIPT: 1})
    occurrence = bench.due()
    lease = bench.running(occurrence)
    bench.expire(occurrence)
    bench.sweep()
    bench.store.attempts.complete(lease, SCRIPT)
    bench.store.fleet.beat(SCRIPT, {"role": SCRIPT, "state": SCRIPT, "queues": [SCRIPT], "occurrence": SCRIPT})
    for path in (
        "/",
        "/schedules",
        "/schedules/docs",
        "/schedules/docs/edit",
        "/holds",
        f"/holds/docs/{occurrence.tick_ms}",
    ):
        page = console.get(path)
        check(page)
        assert "<script>alert" not in page.html, path
        assert "<img" not in page.html, path
        assert "49 &amp;" not in page.html, path
    at = f"/holds/docs/{occurrence.tick_ms}"
    console.send(console.get(at), f"{at}/resolve", outcome="committed", by=SCRIPT, evidence=SCRIPT)
    page = console.get(f"/schedules/docs/ticks/{occurrence.tick_ms}")
    check(page)
    assert SCRIPT in page.text
    console.post("/schedules/docs/pause", {"note": SCRIPT, "revision": str(bench.store.schedules.get("docs").revision)})
    assert SCRIPT in console.get("/schedules/docs").text


@pytest.mark.parametrize("text", ["x", "<script>", "\u202e\r\n"], ids=repr)
def test_a_mebibyte_of_anything_in_the_store_makes_no_page_of_that_size(
    console: Console, bench: Bench, text: str
) -> None:
    large = text * (1024 * 1024 // len(text))
    bench.add()
    occurrence = bench.due()
    bench.store.attempts.complete(bench.running(occurrence), large)
    bench.store.fleet.beat("vm.1", {"role": large, "state": large, "queues": [large], "occurrence": large})
    for path in ("/", "/schedules/docs", f"/schedules/docs/ticks/{occurrence.tick_ms}"):
        page = console.get(path)
        check(page)
        assert len(page.html) < 200_000, path


def test_characters_that_mislead_the_eye_are_spelled_out(console: Console, bench: Bench) -> None:
    bench.add()
    occurrence = bench.due()
    lease = bench.running(occurrence)
    bench.store.attempts.complete(lease, "safe\u202egnp.exe\u200b")
    page = console.get(f"/schedules/docs/ticks/{occurrence.tick_ms}")
    assert "\u202e" not in page.html
    assert "safe\\u202egnp.exe\\u200b" in page.text


@pytest.mark.parametrize(
    "path",
    [
        "/schedules/%3Cscript%3E",
        "/schedules/..%2f..%2fetc",
        "/schedules/nobody",
        "/nothing/here",
        "/schedules/docs/run",
        "/schedules/docs/ticks/never",
        "/holds/docs/99999999999999999999",
        "/schedules?cursor=%3Cscript%3E",
        "/holds?cursor=LTE",
        "/schedules?q=" + "x" * 5_000,
        "/new/ticks?spec=" + "*" * 5_000,
    ],
)
def test_an_address_that_is_not_ours_is_one_clear_page(console: Console, path: str) -> None:
    reply = console.client.get(path)
    assert reply.status_code in {400, 404, 405, 422}
    assert reply.headers["content-type"].startswith("text/html")
    assert "<script>" not in reply.text.replace('<script src="/static/', "")


def test_another_site_can_send_no_form(console: Console, bench: Bench) -> None:
    bench.add()
    form = console.get("/schedules/docs").form("/schedules/docs/run")
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        assert console.client.post("/schedules/docs/run", data=form, headers=headers).status_code == 403
    assert bench.queue() == []


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"key=1", "text/plain", 415),
        (b'{"key": "1"}', "application/json", 415),
        (b"key=1&key=2", "application/x-www-form-urlencoded", 400),
        (b"key=%ff", "application/x-www-form-urlencoded", 400),
        (b"&".join(b"k%d=1" % n for n in range(200)), "application/x-www-form-urlencoded", 400),
        (b"note=" + b"x" * 600_000, "application/x-www-form-urlencoded", 413),
    ],
)
def test_anything_but_a_small_form_is_refused(
    console: Console, bench: Bench, body: bytes, kind: str, status: int
) -> None:
    bench.add()
    reply = console.client.post("/schedules/docs/run", content=body, headers={"Content-Type": kind})
    assert reply.status_code == status
    assert bench.queue() == []


def test_without_a_session_every_page_leads_to_the_sign_in(bench: Bench) -> None:
    occurrence = live_in(bench)
    console = console_on(bench.store, ACCESS)
    for path in lived_in_pages(occurrence):
        page = console.get(path)
        assert "/login" in page.url
        assert "docs" not in page.text.replace("docs.refresh", "")
    reply = console.client.post("/schedules/docs/run", data={"key": "k"}, follow_redirects=False)
    assert reply.status_code in {303, 401}
    assert console.client.get("/live").url.path == "/login"


def test_a_token_begins_a_session_that_only_its_own_forms_can_use(bench: Bench) -> None:
    bench.add()
    console = console_on(bench.store, ACCESS)
    page = console.get("/schedules/docs")
    assert "not the console's token" in console.send(page, "/login", 401, token="guess").text
    page = console.send(page, "/login", token="write-token")
    assert page.url.endswith("/schedules/docs")
    assert [each.has_nonstandard_attr("HttpOnly") for each in console.client.cookies.jar] == [True]
    form = page.form("/schedules/docs/run")
    assert console.client.post("/schedules/docs/run", data={**form, "form_token": "guess"}).status_code == 403
    assert console.client.post("/schedules/docs/run", data={"key": form["key"]}).status_code == 403
    assert bench.queue() == []
    console.post("/schedules/docs/run", form)
    assert len(bench.queue()) == 1


def test_whoever_signs_out_is_out(bench: Bench) -> None:
    console = console_on(bench.store, ACCESS)
    page = console.send(console.get("/"), "/login", token="write-token")
    assert "/login" in console.send(page, "/logout").url
    assert "/login" in console.get("/schedules").url


def test_a_reader_sees_every_page_and_no_action(bench: Bench) -> None:
    occurrence = held(bench)
    console = console_on(bench.store, ACCESS)
    page = console.send(console.get("/"), "/login", token="read-token")
    assert not [link for link in page.links if link == "/new"]
    for path in ("/schedules", "/schedules/docs", "/holds", f"/holds/docs/{occurrence.tick_ms}"):
        page = console.get(path)
        check(page)
        assert [form.action for form in page.forms if form.method == "post"] == ["/logout"]
    token = page.form("/logout")["form_token"]
    for path in ("/schedules/docs/run", "/schedules/docs/delete", "/new", "/schedules/docs/edit"):
        assert console.client.post(path, data={"key": "k", "form_token": token}).status_code == 403
    for path in ("/new", "/schedules/docs/edit"):
        console.get(path, 403)


@pytest.mark.parametrize("onward", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_nowhere_else(bench: Bench, onward: str) -> None:
    console = console_on(bench.store, ACCESS)
    reply = console.client.post("/login", data={"token": "write-token", "next": onward}, follow_redirects=False)
    assert reply.headers["location"] == "/"


def test_while_redis_is_away_every_page_says_so_and_then_comes_back(
    console: Console, bench: Bench, server: fakeredis.FakeServer
) -> None:
    occurrence = live_in(bench)
    server.connected = False
    for path in (each for each in lived_in_pages(occurrence) if not each.startswith("/new")):
        reply = console.client.get(path)
        assert reply.status_code == 503, path
        assert "Redis cannot be reached" in reply.text
        assert reply.headers["retry-after"]
        assert "data-away" in reply.text
    assert console.client.post("/schedules/docs/run", data={"key": "k"}).status_code == 503
    server.connected = True
    for path in lived_in_pages(occurrence):
        console.get(path)


def test_a_failure_nobody_thought_of_is_a_page_without_its_words(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret words of the backend")

    monkeypatch.setattr(Store, "trails", property(lambda _: broken()), raising=False)
    reply = console.client.get("/")
    assert reply.status_code == 503
    assert "secret" not in reply.text
    assert "Something went wrong" in reply.text


def test_programs_that_ask_for_nothing_get_no_page(console: Console) -> None:
    reply = console.client.get("/api/v1/nothing")
    assert reply.status_code == 404
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("origin", "secure"), [("https://127.0.0.1:8787", True), ("http://127.0.0.1:8787", False)])
def test_a_session_that_was_begun_by_https_is_sent_by_https_only(bench: Bench, origin: str, secure: bool) -> None:
    console = console_on(bench.store, ACCESS)
    reply = console.client.post(
        "/login", data={"token": "write-token"}, headers={"Origin": origin}, follow_redirects=False
    )
    assert ("Secure" in reply.headers["set-cookie"].split("; ")) is secure
