"""Every route of the service: who is let in, and the headers of what is answered. One that is not listed here fails."""

import re
from collections.abc import Iterator

import pytest

from neologue.web.dashboard import dashboard
from service.serving import Reply, Served
from web.office import Office

from .wire import attacked

PUBLIC = """
GET /healthz
GET /readyz
GET /metrics
GET /openapi.json
GET /log/{path:path}
GET /v1/key
GET /sign-in
POST /sign-in
GET /device/{file}
GET /static/{file}
GET /favicon.{file}
"""
"""For everybody. What may be stored of these is the same for all who ask."""
DEVICES = """
POST /v1/check-in
POST /v1/reports
POST /v1/cohorts
POST /v1/cohorts/{group}
GET /v1/layers/{digest}
GET /v1/known/{digest}
"""
"""By credential, ticket or digest; other attacks are about these."""
BOTH = """
GET /v1/campaigns
GET /v1/campaigns/{name}
GET /v1/campaigns/{name}/words
GET /v1/campaigns/{name}/review
POST /v1/campaigns/{name}/review
GET /v1/campaigns/{name}/review/history
GET /v1/campaigns/{name}/review/export
GET /v1/campaigns/{name}/release
GET /v1/campaigns/{name}/influence/{hostile}
GET /
POST /sign-out
GET /campaigns/{name}/words
GET /campaigns/{name}/files/{file}
GET /campaigns/{name}/review
POST /campaigns/{name}/review
POST /campaigns/{name}/review/one
GET /campaigns/{name}/review/history
GET /campaigns/{name}/review/export
GET /campaigns/{name}/privacy
GET /transparency
GET /trends
"""
"""For operators and analysts."""
OPERATORS = """
POST /v1/campaigns
PUT /v1/campaigns/{name}
DELETE /v1/campaigns/{name}
GET /v1/campaigns/{name}/definition
POST /v1/campaigns/{name}/start
POST /v1/campaigns/{name}/pause
POST /v1/campaigns/{name}/abort
GET /v1/campaigns/{name}/layers
GET /v1/campaigns/{name}/expected-end
GET /v1/campaigns/{name}/prefixes
POST /v1/campaigns/{name}/credentials
GET /v1/tokens
POST /v1/tokens
DELETE /v1/tokens/{name}
GET /v1/audit
GET /v1/deployment
GET /v1/keys
POST /v1/keys/{purpose}/rotate
POST /v1/keys/successor
POST /v1/keys/recovery
POST /v1/keys/revocation
GET /v1/populations
POST /v1/populations
POST /v1/populations/{name}/budget
POST /v1/charges/{campaign}/abandon
POST /v1/charges/{campaign}/settle
POST /v1/ledger
GET /campaigns/{name}
POST /campaigns/{name}/start
POST /campaigns/{name}/pause
GET /campaigns/{name}/abort
POST /campaigns/{name}/abort
POST /campaigns/{name}/delete
POST /campaigns/{name}/credentials
GET /campaigns/{name}/trie
GET /campaigns/{name}/trie/branches
GET /campaigns/{name}/progress
GET /create
POST /create
GET /campaigns/{name}/edit
POST /campaigns/{name}/edit
POST /create/price
POST /create/expected
"""
"""For operators alone."""


def listed(text: str) -> list[str]:
    return text.split("\n")[1:-1]


NAMES = {
    "a number beyond databases": f"tile/0/{6 * 'x999/'}999",
    "a bundle beyond databases": f"tile/entries/{6 * 'x999/'}999.p/255",
    "a number beyond Python": f"tile/0/{2000 * 'x999/'}999",
    "the highest level": "tile/63/x999/x999/x999/x999/999",
    "a campaign": f"campaigns/{32 * 'f'}/tile/entries/{6 * 'x999/'}999",
    "a document": f"documents/{64 * 'f'}",
    "a parent folder": "..%2F..%2F..%2Fetc%2Fpasswd",
    "no text": "%ff%00%zz",
    "other digits": 64 * "%D9%A3",
    "nothing": "%20",
}
"""What strangers write in the place of a name, by what is wrong with it."""
GUARDED = listed(BOTH) + listed(OPERATORS)
IS_API = re.compile(r"\S+ /v1/")


class Doors:
    """A service, and an operator and an analyst, with their tokens and their browsers."""

    def __init__(self, service: Served, routes: set[str]) -> None:
        self.routes = routes
        self.office = Office(service, None)  # type: ignore[arg-type]
        self.tokens = {"operator": service.token, "analyst": self.office.token("analyst")}
        self.cookies = {role: self.office.cookie(token) for role, token in self.tokens.items()}

    def ask(self, route: str, role: str | None = None, **headers: str) -> Reply:
        """Ask for a route about a campaign that is not there, as somebody of a role or as a stranger."""
        method, template = route.split(" ")
        path = re.sub(r"\{.*?\}", "none", template)
        cookie = ""
        if role is not None and IS_API.match(route):
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        elif role is not None:
            cookie = self.cookies[role]
        return self.office.ask(method, path, cookie, None, **headers)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with attacked(tmp_path_factory.mktemp("doors"), dashboard, failures_per_minute=1e6, proxies=1) as (service, worker):
        routes = {
            f"{method} {route.path}"  # type: ignore[attr-defined]
            for route in worker._app.routes
            for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
        }
        yield Doors(service, routes)


def test_it_is_known_of_every_route_who_may_use_it(doors: Doors) -> None:
    stated = [*listed(PUBLIC), *listed(DEVICES), *GUARDED]
    assert len(stated) == len(set(stated))
    # Reports are taken before all routes.
    assert doors.routes | {"POST /v1/reports"} == set(stated)


@pytest.mark.parametrize("route", [*listed(PUBLIC), *listed(DEVICES), *GUARDED])
def test_every_answer_of_every_route_has_the_headers_that_browsers_heed(doors: Doors, route: str) -> None:
    for role in (None, *(doors.tokens if route in GUARDED and route.startswith("GET") else ())):
        reply = doors.ask(route, role, X_Forwarded_Proto="https")
        assert reply.status < 500 or reply.status == 503
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["strict-transport-security"] == "max-age=31536000"
        if route != "GET /openapi.json":
            assert reply.headers["cache-control"] == "no-store"
        if not IS_API.match(route) and reply.headers.get("content-type", "").startswith("text/html"):
            policy = reply.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", NAMES.values(), ids=NAMES)
def test_no_name_in_an_address_makes_the_service_fail(doors: Doors, path: str) -> None:
    """Neither with an answer of 500, which nothing slows down, nor with a traceback in the log."""
    for route in (*listed(PUBLIC), *listed(DEVICES)):
        method, template = route.split(" ")
        if "{" in template:
            assert doors.office.ask(method, re.sub(r"\{.*?\}", path, template)).status in (400, 404), template


@pytest.mark.parametrize("route", GUARDED)
def test_a_stranger_gets_into_no_route_of_people(doors: Doors, route: str) -> None:
    for sent in ({}, {"Authorization": "Bearer guess"}, {"Cookie": "__Host-neologue=guess; neologue=guess"}):
        reply = doors.ask(route, None, **sent)
        assert reply.status == 401 or (not IS_API.match(route) and reply.status == 303)
        assert reply.headers.get("location", "/sign-in").startswith("/sign-in")
        assert "set-cookie" not in reply.headers


@pytest.mark.parametrize("route", listed(OPERATORS))
def test_an_analyst_gets_into_no_route_of_operators(doors: Doors, route: str) -> None:
    reply = doors.ask(route, "analyst")
    assert reply.status == 403
    assert b"for the role operator" in reply.body


@pytest.mark.parametrize("route", [route for route in GUARDED if route.startswith("POST") and not IS_API.match(route)])
def test_no_form_is_taken_that_another_site_has_sent(doors: Doors, route: str) -> None:
    """With the browser's cookie, which another site can have sent, but not with what our own pages carry."""
    ours = {"Origin": doors.office.address}
    for headers in ({"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}, {}, ours):
        reply = doors.ask(route, "operator", **headers)
        assert reply.status == 403
        assert b"not sent by a page of your session" in reply.body


@pytest.mark.parametrize("route", [route for route in GUARDED if IS_API.match(route)])
def test_a_session_opens_no_route_of_the_api(doors: Doors, route: str) -> None:
    """A cookie is sent by whatever site a browser is on; a token is not."""
    method, path = route.split(" ")
    reply = doors.office.ask(method, re.sub(r"\{.*?\}", "none", path), doors.cookies["operator"])
    assert reply.status == 401
