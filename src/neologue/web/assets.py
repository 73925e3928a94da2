"""The files that pages load: our own scripts and styles, the device for browsers and its demo, all of this package."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.service.api.responses import failure
from neologue.web.page import HTML, SECURITY_HEADERS

DEVICE: Final = ("neologue-device.js", "neologue-device.d.ts", "demo.html", "demo.js", "demo.css")
"""What a web app copies, served under a path of its own."""
_KINDS: Final = {
    "css": "text/css; charset=utf-8",
    "html": HTML,
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "ts": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    media: str
    tag: str


def routes() -> list[Route]:
    """The routes of all files."""
    device = {name: asset for name, asset in _assets().items() if name in DEVICE}
    rest = {name: asset for name, asset in _assets().items() if name not in DEVICE}
    # Browsers request this icon whatever a page says.
    icon = Route("/favicon.{file}", _endpoint({"ico": rest["icon.svg"]}))
    return [Route("/device/{file}", _endpoint(device)), Route("/static/{file}", _endpoint(rest)), icon]


def _endpoint(assets: dict[str, Asset]) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        asset = assets.get(request.path_params["file"])
        if asset is None:
            return failure(404, "unknown", "there is no such file")
        # Cached, but revalidated each time: after an upgrade no page may run scripts of the previous version.
        headers = {**SECURITY_HEADERS, "Cache-Control": "no-cache", "ETag": asset.tag}
        if request.headers.get("If-None-Match") == asset.tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.media, headers=headers)

    return serve


@cache
def _assets() -> dict[str, Asset]:
    found = {}
    for file in files("neologue.web").joinpath("static").iterdir():
        media = _KINDS.get(file.name.rpartition(".")[2])
        if media:
            content = file.read_bytes()
            found[file.name] = Asset(content, media, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found
