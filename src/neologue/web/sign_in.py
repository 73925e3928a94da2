"""Signing in with a token, and out again."""

import re

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.service.ops import access
from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.page import ALL_ROLES, SIGN_IN, Page, PageRequest, html_response, redirect

LARGEST = 4096
"""The most bytes that are read from somebody who has not shown a token yet."""
WRONG = "Unknown or revoked token. Copy the whole token as it was shown to you."
ELSEWHERE = "This form was sent from another site. Sign in here, on this page."


def routes(service: Worker) -> list[Route]:
    """The sign-in page, which everybody may open."""

    async def show_form(http: Request) -> Response:
        return _sign_in_page(200, _next_path(http.query_params), "")

    async def sign_in(http: Request) -> Response:
        if session.is_cross_site(http, service.settings):
            return _sign_in_page(403, "/", ELSEWHERE)
        form = QueryParams((await service.body(http, LARGEST) or b"").decode("utf-8", "replace"))
        secret = await service.threads.run(_begin_session, service, form.get("token", "").strip())
        if secret is None:
            # The status counts against the address: whoever guesses is slowed down.
            return _sign_in_page(401, _next_path(form), WRONG)
        response = redirect(_next_path(form))
        session.set_cookie(response, http, service.settings, secret)
        return response

    return [Route(SIGN_IN, show_form, methods=["GET"]), Route(SIGN_IN, sign_in, methods=["POST"])]


def sign_out(request: PageRequest) -> Response:
    """End the session."""
    settings = request.service.settings
    with request.service.database.transaction() as db:
        session.end(db, session.session_secret(request.http, settings))
    response = redirect(SIGN_IN)
    session.clear_cookie(response, request.http, settings)
    return response


PAGES = (Page("POST", "/sign-out", sign_out, ALL_ROLES),)


def _begin_session(service: Worker, token: str) -> str | None:
    with service.database.reading() as db:
        # Nobody who guesses makes those wait who write.
        if access.holder(db, token) is None:
            return None
    with service.database.transaction() as db:
        return session.begin(db, token, service.context.clock())


def _sign_in_page(status: int, next_path: str, problem: str) -> Response:
    return html_response("sign_in.html", status, session=None, next_path=next_path, problem=problem)


def _next_path(given: QueryParams) -> str:
    """Where to go after signing in: a path of this service, and of no other."""
    path = given.get("next", "")
    return path if re.fullmatch(r"/(?![/\\])[!-~]*", path) else "/"
