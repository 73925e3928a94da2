"""Which paths are there at all: all of the routes, and next to nothing else."""

import pytest
from starlette.routing import BaseRoute, Route

from neologue.service.api.paths import Paths


async def serve(request: object) -> None:
    """Answers nothing."""


ROUTES: list[BaseRoute] = [
    Route(path, serve)
    for path in ("/", "/words", "/words/{name}", "/words/{name}/files/{file}", "/log/{path:path}", "/icon.{kind}")
]


@pytest.mark.parametrize("path", ["/", "/words", "/words/a", "/words/a/files/b", "/log/", "/log/a/b", "/icon.svg"])
def test_what_a_route_serves_is_there(path: str) -> None:
    assert path in Paths.of(ROUTES)


@pytest.mark.parametrize("path", ["", "//", "/word", "/wordsmith", "/log", "/icon", "/wp-login.php", "words"])
def test_what_none_serves_is_not(path: str) -> None:
    assert path not in Paths.of(ROUTES)


def test_without_routes_nothing_is_there() -> None:
    assert "/" not in Paths.of([])
