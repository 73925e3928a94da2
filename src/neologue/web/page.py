"""Pages: who may see each, how they are rendered, and the headers that all of them have.

A page is a function of a visit, run in a thread of its own. What it may not do, or was asked wrongly, it raises as an
error of neologue, which becomes a page too; a script gets it as JSON.
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
from neologue.service.api.operator_api import Call
from neologue.service.api.responses import failure, failure_of
from neologue.service.api.schemas import Failure
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.ops.access import ANALYST, OPERATOR
from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.session import Session

BOTH: Final = (OPERATOR, ANALYST)
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
SAFE: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What every page and asset has."""
LARGEST_FORM: Final = 1 << 18
"""The most bytes of a form: all words of a page, with a note. To read many millions of fields would take gigabytes."""
PRIVATE: Final = SAFE | {"Cache-Control": "no-store"}
"""What every page has."""


@dataclass(frozen=True)
class Visit:
    """A request of somebody who is signed in and may make it."""

    service: Worker
    session: Session
    request: Request
    form: QueryParams
    """What a form has sent; empty for whatever is only looked at."""

    @property
    def names(self) -> Mapping[str, str]:
        """The parts of the path that the page leaves open."""
        return self.request.path_params

    @property
    def query(self) -> QueryParams:
        """What the address asks for behind its path."""
        return self.request.query_params

    def call(self, body: object = None, query: object = None, **names: str) -> Call:
        """The same request, as an endpoint of the service takes it."""
        return Call(self.session.person, {**self.names, **names}, body, query)

    def entry(self) -> CampaignRow:
        """The campaign that the path names."""
        with self.service.database.reading() as db:
            return campaign_store.named(db, self.names["name"])


@dataclass(frozen=True)
class Page:
    """One page, or what a script of a page asks for."""

    method: str
    path: str
    serve: Callable[[Visit], Response]
    roles: tuple[str, ...] = (OPERATOR,)
    for_script: bool = False
    """Whether a script asks, which reads an error as JSON."""
    largest: int | None = LARGEST_FORM
    """The most bytes of its form; None for as many as the service takes."""


def route(service: Worker, page: Page) -> Route:
    """The page as the service serves it."""

    async def served(request: Request) -> Response:
        response = await _served(service, page, request)
        for name, value in PRIVATE.items():
            response.headers.setdefault(name, value)
        return response

    return Route(page.path, served, methods=[page.method])


def rendered(visit: Visit, template: str, status: int = 200, **values: object) -> Response:
    """A page from a template that extends `base.html`."""
    return html(template, status, session=visit.session, **values)


def fragment(template: str, **values: object) -> str:
    """A piece of a page."""
    return _environment().get_template(template).render(**values)


def html(template: str, status: int = 200, **values: object) -> Response:
    """A page for anybody; `session` is whose it is, or None."""
    return Response(fragment(template, version=__version__, **values), status, media_type=HTML, headers=PRIVATE)


def seen(path: str) -> Response:
    """Go on to another page, after something was done."""
    return Response(status_code=303, headers={**PRIVATE, "Location": path})


def to_campaign(name: str, *further: str) -> str:
    """The path of a campaign, or of one of its pages."""
    return "/".join(["", "campaigns", *(quote(part, safe="") for part in (name, *further))])


async def _served(service: Worker, page: Page, request: Request) -> Response:
    found = await service.threads.run(signed_in, service, request)
    if found is None:
        return _stranger(page, request)
    if found.person.role not in page.roles:
        told = f"this page is for the role {' or '.join(page.roles)}, and you are signed in as {found.person.role}"
        return _failed(page, found, failure(403, "forbidden", told))
    if not all(name.isprintable() for name in request.path_params.values()):
        return _failed(
            page, found, failure(404, "unknown", "nothing here has a name with characters that can't be shown")
        )
    form = QueryParams("")
    if page.method == "POST":
        body = await service.body(request, page.largest)
        if body is None:
            return _failed(page, found, failure(413, "too_large", "the form is larger than the service takes"))
        form = await service.threads.run(QueryParams, body.decode("utf-8", "replace"))
        if session.is_cross_site(request) or not session.is_ours(found, form.get(session.FIELD, "")):
            told = "this form was not sent by a page of your session: load the page anew, and send it from there"
            return _failed(page, found, failure(403, "forbidden", told))
    visit = Visit(service, found, request, form)
    try:
        response = await service.threads.run(page.serve, visit)
    except NeologueError as error:
        return _failed(page, found, failure_of(error))
    if page.method == "POST":
        await service.layers.refresh()
    return response


def signed_in(service: Worker, request: Request) -> Session | None:
    """Whose session a request belongs to, if it is anybody's."""
    secret = session.secret_of(request, service.settings)
    if not secret:
        return None
    with service.database.reading() as db:
        return session.find(db, secret, service.context.clock())


def _stranger(page: Page, request: Request) -> Response:
    """Send somebody who is not signed in to where they can be; from there they come back, if they only looked."""
    if page.for_script:
        return failure(401, "no_session", "you are not signed in any more: load the page anew")
    path = str(request.scope["raw_path"], "ascii", "replace")
    return seen(f"{SIGN_IN}?next={quote(path, safe='')}" if page.method == "GET" and path != "/" else SIGN_IN)


def _failed(page: Page, found: Session, response: Response) -> Response:
    """An error, as whoever asked can read it."""
    if page.for_script:
        return response
    problem = msgspec.json.decode(response.body, type=Failure).error
    return html("error.html", response.status_code, session=found, message=problem.message)


def _duration(seconds: float) -> str:
    """A length of time in its largest unit that says it well."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or seconds == length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


@cache
def _environment() -> jinja2.Environment:
    made = environment("neologue.web", "neologue.reporting")
    made.filters["time"] = lambda seconds: f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    made.filters["duration"] = _duration
    made.globals["to_campaign"] = to_campaign
    made.globals["FIELD"] = session.FIELD
    return made
