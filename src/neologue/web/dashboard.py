"""The service with its pages: what `neologue serve` runs."""

import os
import time
from collections.abc import Callable, Sequence
from itertools import chain

import msgspec
from starlette.routing import BaseRoute

from neologue.service.ops.logs import configure
from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker
from neologue.web import assets, campaigns, creation, entrance, privacy, progress, review, words
from neologue.web.page import Page, route

PAGES: tuple[Page, ...] = (
    *entrance.PAGES,
    *campaigns.PAGES,
    *progress.PAGES,
    *words.PAGES,
    *review.PAGES,
    *privacy.PAGES,
    *creation.PAGES,
)


def dashboard(settings: Settings, clock: Callable[[], float] = time.time, more: Sequence[BaseRoute] = ()) -> Worker:
    """A worker that serves devices, people and their browsers, and `more` beside it."""
    return Worker(settings, clock, lambda service: [*routes(service), *more])


def routes(service: Worker) -> Sequence[BaseRoute]:
    """Everything that a browser asks for."""
    return list(chain(entrance.routes(service), assets.routes(), (route(service, page) for page in PAGES)))


def from_environment() -> Worker:
    """The service of a worker that was started by another process, which left the settings in the environment."""
    configure()
    return dashboard(msgspec.json.decode(os.environ["NEOLOGUE_SETTINGS"], type=Settings))
