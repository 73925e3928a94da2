"""Signing in with a token, and out again."""

import re

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.page import BOTH, SIGN_IN, Page, Visit, html, seen

LARGEST = 4096
"""The most bytes that are read of somebody who has shown no token yet."""
WRONG = "This token is not one of the service, or not any more. Copy the one that you were shown, whole."
ELSEWHERE = "This form was sent from another site. Sign in here, on this page."


def routes(service: Worker) -> list[Route]:
    """The way in, which everybody may try."""

    async def asked(request: Request) -> Response:
        return _door(200, _back(request.query_params), "")

    async def entered(request: Request) -> Response:
        form = QueryParams((await service.body(request, LARGEST) or b"").decode("utf-8", "replace"))
        if session.is_cross_site(request):
            return _door(403, "/", ELSEWHERE)
        secret = await service.threads.run(_begun, service, form.get("token", "").strip())
        if secret is None:
            # The status counts against the address: whoever guesses is slowed down.
            return _door(401, _back(form), WRONG)
        response = seen(_back(form))
        session.give(response, request, service.settings, secret)
        return response

    return [Route(SIGN_IN, asked, methods=["GET"]), Route(SIGN_IN, entered, methods=["POST"])]


def sign_out(visit: Visit) -> Response:
    """End the session."""
    settings = visit.service.settings
    with visit.service.database.transaction() as db:
        session.end(db, session.secret_of(visit.request, settings))
    response = seen(SIGN_IN)
    session.take(response, visit.request, settings)
    return response


PAGES = (Page("POST", "/sign-out", sign_out, BOTH),)


def _begun(service: Worker, token: str) -> str | None:
    with service.database.transaction() as db:
        return session.begin(db, token, service.context.clock())


def _door(status: int, back: str, problem: str) -> Response:
    return html("sign_in.html", status, session=None, back=back, problem=problem)


def _back(given: QueryParams) -> str:
    """Where somebody wanted to go; a path of this service, and of no other."""
    path = given.get("next", "")
    return path if re.fullmatch(r"/(?![/\\])[!-~]*", path) else "/"
