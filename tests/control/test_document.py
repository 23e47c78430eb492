"""The OpenAPI document is true: thousands of requests made from it, right and wrong, get a reply that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import fakeredis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from duly.common.store import Store
from tests.acceptance.conftest import live_in
from tests.conftest import fake_backend
from tests.control.conftest import ORIGIN, Api, make, problem
from tests.store.conftest import Bench

EXAMPLES = 24
"""For each route, of right requests and of wrong ones; each is sent as it was drawn, and aimed at what is there."""
AIMED = 6
KNOWN = ("docs", "feed", "paused", "a" * 64)
SPECS = ("@every:60000", "0 9 * * *", "CRON_TZ=America/New_York 30 1 * * *")


@dataclass(frozen=True)
class Aimed:
    """What becomes of a drawn request, so that more of them reach something: the schedule it names, the expression it
    gives, and, if ``plain``, no condition and no bounds, and the tick that is held.
    """

    schedule_id: str | None = None
    spec: str | None = None
    plain: bool = False

    def at(self, path: Any, body: Any, headers: Any, held_ms: int) -> tuple[Any, Any, Any]:
        """The parameters, the body and the headers."""
        if self.schedule_id is not None and path:
            known = {"schedule_id": self.schedule_id}
            if self.plain:
                known |= {"tick_ms": held_ms, "job_id": f"duly-{self.schedule_id}-{held_ms}-1"}
            path = {**path, **{name: value for name, value in known.items() if name in path}}
        if self.spec is not None and isinstance(body, dict) and "spec" in body:
            dropped = ("start_at", "end_at") if self.plain else ()
            body = {**{name: body[name] for name in body if name not in dropped}, "spec": self.spec}
        if self.plain:
            headers = type(headers)({name: headers[name] for name in headers if name.lower() != "if-match"})
        return path, body, headers


AS_DRAWN = Aimed()
ASKED = st.lists(
    st.builds(Aimed, st.sampled_from(KNOWN), st.sampled_from([None, *SPECS]), st.booleans()),
    min_size=AIMED,
    max_size=AIMED,
    unique=True,
)
TOLD = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
_document = make(Store(fakeredis.FakeRedis(decode_responses=True), shebang=False)).openapi()
OPERATIONS = {
    f"{each.ok().method.upper()} {each.ok().path}": each.ok()
    for each in schemathesis.openapi.from_dict(_document).get_all_operations()
}
QUIET = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def fleet() -> Iterator[tuple[Api, int]]:
    """A store in which something of everything has happened, and the tick that is held."""
    for backend in fake_backend():
        bench = Bench(backend, backend.store())
        held = live_in(bench)
        api = Api(make(bench.store))
        with api.client:  # one loop for all requests
            yield api, held.tick_ms


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_reply_is_one_that_the_document_names(fleet: tuple[Api, int], name: str, mode: GenerationMode) -> None:
    api, held_ms = fleet
    seen = Counter[int]()

    @QUIET
    @given(case=OPERATIONS[name].as_strategy(generation_mode=mode), asked=ASKED)
    def ask(case: Any, asked: list[Aimed]) -> None:
        drawn = case.path_parameters, case.body, case.headers
        sent = list[Any]()
        for aimed in (AS_DRAWN, *asked):
            case.path_parameters, case.body, case.headers = aimed.at(*drawn, held_ms)
            request = case.as_transport_kwargs(base_url=ORIGIN)
            request.pop("cookies", None)
            if request in sent:
                continue
            sent.append(request)
            response = api.client.request(**{"content" if key == "data" else key: request[key] for key in request})
            seen[response.status_code] += 1
            assert response.status_code < 500, response.text
            case.validate_response(response, checks=TOLD)

    with suppress(Unsatisfiable):  # a route without parameters cannot be asked wrongly
        ask()
    assert seen or mode is GenerationMode.NEGATIVE


def test_a_method_that_a_route_has_not_is_refused_with_those_it_has(api: Api) -> None:
    for name in OPERATIONS:
        path = name.partition(" ")[2].replace("{schedule_id}", "docs").replace("{tick_ms}", "5")
        path = path.replace("{job_id}", "x")
        response = api.client.request("TRACE", path)
        problem(response, 405, "method_not_allowed")
        assert name.partition(" ")[0] in response.headers["allow"].split(", ")


def test_every_status_of_the_contract_is_documented_where_it_belongs(api: Api) -> None:
    told = {name: {int(status) for status in each.definition.raw["responses"]} for name, each in OPERATIONS.items()}
    for name, statuses in told.items():
        assert {401, 403, 503} <= statuses, name
        assert not [status for status in statuses if status >= 500 and status != 503], name
        if name.startswith(("POST", "PUT", "PATCH")):
            assert {400, 413, 415, 422} <= statuses, name
    periodic = "/api/v1/periodic/{schedule_id}"
    assert told[f"POST {periodic}/run"] >= {202, 404, 409, 423, 429}
    assert told[f"PUT {periodic}"] >= {200, 201, 409, 412}
    assert told[f"PATCH {periodic}"] >= {200, 404, 409, 412}
    assert told[f"DELETE {periodic}"] >= {204, 404, 412}
