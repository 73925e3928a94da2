"""The service with its pages: what `neologue serve` runs."""

import os
import time
from collections.abc import Callable, Sequence
from itertools import chain

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from neologue.service.api.responses import Handlers, http_failure
from neologue.service.ops.logs import configure
from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker
from neologue.web import (
    assets,
    campaign_pages,
    creation_page,
    log_page,
    privacy_page,
    progress_stream,
    review_page,
    sign_in,
    trends_page,
    words_page,
)
from neologue.web.page import Page, error_page, page_route

PAGES: tuple[Page, ...] = (
    *sign_in.PAGES,
    *campaign_pages.PAGES,
    *progress_stream.PAGES,
    *words_page.PAGES,
    *review_page.PAGES,
    *privacy_page.PAGES,
    *trends_page.PAGES,
    *log_page.PAGES,
    *creation_page.PAGES,
)


def dashboard(settings: Settings, clock: Callable[[], float] = time.time, more: Sequence[BaseRoute] = ()) -> Worker:
    """A worker that serves devices, people and their browsers, with `more` routes in addition."""
    return Worker(settings, clock, lambda service: [*routes(service), *more], ERROR_PAGES)


async def _no_such_page(request: Request, error: Exception) -> Response:
    """An address that is not there: a page for a browser, JSON for everybody else."""
    response = await http_failure(request, error)
    is_browser = "text/html" in request.headers.get("Accept", "") and not request.url.path.startswith("/v1/")
    return error_page(None, response) if is_browser else response


ERROR_PAGES: Handlers = {HTTPException: _no_such_page}
"""The responses to errors in which a service with pages differs from one without."""


def routes(service: Worker) -> Sequence[BaseRoute]:
    """The routes of all pages and assets."""
    return list(chain(sign_in.routes(service), assets.routes(), (page_route(service, page) for page in PAGES)))


def from_environment() -> Worker:
    """The service of a worker process, whose parent left the settings in the environment."""
    configure()
    return dashboard(msgspec.json.decode(os.environ["NEOLOGUE_SETTINGS"], type=Settings))
