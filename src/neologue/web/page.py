"""Pages: who may see each, how they are rendered, and the headers that all of them have.

A page is a function of a request, run in a thread of its own. It raises an error of neologue for whatever it can't do;
the error becomes a page too, or JSON if a script has asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Final
from urllib.parse import quote

import jinja2
import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue import __version__
from neologue.errors import NeologueError
from neologue.reporting.html_page import environment
from neologue.service.api.operator_api import Call, find_campaign
from neologue.service.api.rate_limit import Standing
from neologue.service.api.responses import failure, failure_of
from neologue.service.api.schemas import Failure
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.ops.access import ANALYST, OPERATOR
from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.session import Session

ALL_ROLES: Final = (OPERATOR, ANALYST)
HTML: Final = "text/html; charset=utf-8"
SIGN_IN: Final = "/sign-in"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    # Our own pages are told where they came from, and nobody else: with "no-referrer" the origin of our own forms would
    # be "null", as that of a page in another site's sandbox is.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""The headers of every page and asset, beside those of every response."""
PAGE_HEADERS: Final = SECURITY_HEADERS | {"Cache-Control": "no-store"}
"""The headers of every page."""
LARGEST_FORM: Final = 1 << 18
"""The most bytes of a form: all words of a page, with a note. Parsing many millions of fields would take gigabytes."""


@dataclass(frozen=True)
class PageRequest:
    """A request of a signed-in person who may make it."""

    service: Worker
    session: Session
    http: Request
    form: QueryParams
    """The fields of a posted form; empty for a GET."""

    @property
    def names(self) -> Mapping[str, str]:
        """The values of the placeholders in the page's path."""
        return self.http.path_params

    @property
    def query(self) -> QueryParams:
        """The query string."""
        return self.http.query_params

    def call(self, body: object = None, query: object = None, **names: str) -> Call:
        """The same request in the form that the endpoints of the REST API take."""
        return Call(self.session.person, {**self.names, **names}, body, query)

    def campaign(self) -> CampaignRow:
        """The campaign that the path names."""
        with self.service.database.reading() as db:
            return find_campaign(db, self.session.person, self.names["name"])


@dataclass(frozen=True)
class Page:
    """A page, or something that a script of a page fetches."""

    method: str
    path: str
    serve: Callable[[PageRequest], Response]
    roles: tuple[str, ...] = (OPERATOR,)
    for_script: bool = False
    """Whether a script asks, which reads an error as JSON."""
    largest: int | None = LARGEST_FORM
    """The most bytes of its form; None for as many as the service accepts."""


def page_route(service: Worker, page: Page) -> Route:
    """The route of a page."""

    async def endpoint(http: Request) -> Response:
        response = await _serve(service, page, http)
        for name, value in PAGE_HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return Route(page.path, endpoint, methods=[page.method])


def render_page(request: PageRequest, template: str, status: int = 200, **values: object) -> Response:
    """Render a template that extends `base.html` for whoever is signed in."""
    return html_response(template, status, session=request.session, **values)


def render_fragment(template: str, **values: object) -> str:
    """Render a piece of a page."""
    return _environment().get_template(template).render(**values)


def html_response(template: str, status: int = 200, **values: object) -> Response:
    """A page for anybody; `session` is whose it is, or None."""
    return Response(
        render_fragment(template, version=__version__, **values), status, media_type=HTML, headers=PAGE_HEADERS
    )


def redirect(path: str) -> Response:
    """Send the browser to another page with a GET, after a form was processed."""
    return Response(status_code=303, headers={**PAGE_HEADERS, "Location": path})


def campaign_path(name: str, *further: str) -> str:
    """The path of a campaign, or of one of its pages."""
    return "/".join(["", "campaigns", *(quote(part, safe="") for part in (name, *further))])


async def _serve(service: Worker, page: Page, http: Request) -> Response:
    found = await _find_session(service, http)
    if found is None:
        return _require_sign_in(page, http)
    standing: Standing = http.scope["standing"]
    standing.vouch()
    if found.person.role not in page.roles:
        message = f"this page is for the role {' or '.join(page.roles)}, and you are signed in as {found.person.role}"
        return _error_response(page, found, failure(403, "forbidden", message))
    if not all(name.isprintable() for name in http.path_params.values()):
        message = "nothing here has a name with characters that can't be shown"
        return _error_response(page, found, failure(404, "unknown", message))
    form = QueryParams("")
    if page.method == "POST":
        body = await service.body(http, page.largest)
        if body is None:
            return _error_response(
                page, found, failure(413, "too_large", "the form is larger than the service accepts")
            )
        form = await service.threads.run(QueryParams, body.decode("utf-8", "replace"))
        if session.is_cross_site(http, service.settings) or not session.is_own_form(found, form.get(session.FIELD, "")):
            message = "this form was not sent by a page of your session: reload the page, and send it from there"
            return _error_response(page, found, failure(403, "forbidden", message))
    request = PageRequest(service, found, http, form)
    try:
        response = await service.threads.run(page.serve, request)
    except NeologueError as error:
        return _error_response(page, found, failure_of(error))
    if page.method == "POST":
        await service.layers.refresh()
    return response


async def _find_session(service: Worker, http: Request) -> Session | None:
    """The session that a request belongs to, if any; who shows none costs no search of the database."""
    secret = session.session_secret(http, service.settings)
    return await service.threads.run(_read_session, service, secret) if secret else None


def _read_session(service: Worker, secret: str) -> Session | None:
    with service.database.reading() as db:
        return session.find(db, secret, service.context.clock())


def _require_sign_in(page: Page, http: Request) -> Response:
    """Send somebody to the sign-in page, from which they come back unless they have sent a form."""
    if page.for_script:
        return failure(401, "no_session", "you are no longer signed in: reload the page")
    path = str(http.scope["raw_path"], "ascii", "replace")
    return redirect(f"{SIGN_IN}?next={quote(path, safe='')}" if page.method == "GET" and path != "/" else SIGN_IN)


def _error_response(page: Page, found: Session, response: Response) -> Response:
    """An error as JSON for a script, and as a page for a person."""
    if page.for_script:
        return response
    return error_page(found, response)


def error_page(found: Session | None, response: Response) -> Response:
    """An error of the API as a page."""
    problem = msgspec.json.decode(response.body, type=Failure).error
    return html_response(
        "error.html",
        response.status_code,
        session=found,
        message=problem.message,
        is_missing=response.status_code == 404,
    )


def _format_duration(seconds: float) -> str:
    """A length of time in the largest unit of which there are at least two, or exactly one."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or seconds == length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


@cache
def _environment() -> jinja2.Environment:
    made = environment("neologue.web", "neologue.reporting")
    made.filters["time"] = lambda seconds: f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    made.filters["duration"] = _format_duration
    made.globals["campaign_path"] = campaign_path
    made.globals["FIELD"] = session.FIELD
    return made
