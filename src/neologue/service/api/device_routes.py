"""The routes that devices use before they send anything: check-in, documents of layers and lists of known words."""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from neologue.protocol.credential import Credential
from neologue.service.api.packed_documents import as_gzip, unpacked
from neologue.service.api.rate_limit import Standing
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import answer, failure
from neologue.service.api.schemas import UNREADABLE
from neologue.service.campaigns import campaign_store
from neologue.service.collect.check_ins import CheckIns
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.collect.replies import CheckIn
from neologue.service.ops.concurrency import Threads
from neologue.service.ops.metrics import Counts
from neologue.service.storage.database import Database

CHECK_IN: Final = "/v1/check-in"
LAYERS: Final = "/v1/layers/"
KNOWN: Final = "/v1/known/"
_LARGEST_CHECK_IN: Final = 1024
_IMMUTABLE: Final = "public, max-age=31536000, immutable"
_DOCUMENTS: Final = 64
"""How many documents are kept in memory, as they are stored and compressed as they are sent."""
_DIGEST: Final = re.compile("[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class _Document:
    """A document as it is stored, and as most are sent it."""

    stored: bytes
    gzip: bytes


class DeviceRoutes:
    """Serves check-ins, and documents by their digest."""

    def __init__(
        self,
        database: Database,
        layer_cache: LayerCache,
        check_ins: CheckIns,
        bodies: RequestBodies,
        threads: Threads,
        layers: LayerRefresh,
        answers: Counts,
    ) -> None:
        self._database, self._layer_cache, self._check_ins = database, layer_cache, check_ins
        self._bodies = bodies
        self._threads, self._layers, self._answers = threads, layers, answers
        self._document = lru_cache(_DOCUMENTS)(self._fetch)

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(CHECK_IN, self._check_in, methods=["POST"]),
            Route(LAYERS + "{digest}", self._layer, methods=["GET"]),
            Route(KNOWN + "{digest}", self._known, methods=["GET"]),
        ]

    async def _check_in(self, request: Request) -> Response:
        body = await self._bodies.body(request.receive, _LARGEST_CHECK_IN)
        if body is None:
            return failure(413, "too_large", "a check-in is a credential, and nothing else")
        try:
            credential = Credential.parse(msgspec.json.decode(body, type=CheckIn).credential)
        except UNREADABLE as error:
            return failure(400, "malformed", f"a check-in has a credential: {error}")
        standing: Standing = request.scope["standing"]
        if self._layer_cache.campaign(credential.campaign_id) is None and not standing.suspect:
            await self._layers.refresh()
        reply = await self._check_ins.reply(credential)
        standing.vouch()
        self._answers.add(type(reply).__name__.lower())
        return answer(reply)

    async def _layer(self, request: Request) -> Response:
        return await self._serve_document("layers", request)

    async def _known(self, request: Request) -> Response:
        return await self._serve_document("known", request)

    async def _serve_document(self, kind: str, request: Request) -> Response:
        """A document by its digest, compressed if the client accepts that; it never changes, so it may be cached."""
        digest = request.path_params["digest"]
        document = await self._find_document(kind, digest)
        if document is None:
            return failure(404, "unknown", f"there is nothing under this digest in {kind}")
        headers = {"Cache-Control": _IMMUTABLE, "ETag": f'"{digest}"', "Vary": "Accept-Encoding"}
        media = "application/json" if kind == "layers" else "text/plain; charset=utf-8"
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return Response(document.gzip, headers={**headers, "Content-Encoding": "gzip"}, media_type=media)
        return StreamingResponse(unpacked(document.stored), headers=headers, media_type=media)

    async def _find_document(self, kind: str, digest: str) -> _Document | None:
        """The document with this digest, if there is one."""
        with suppress(KeyError):
            return await self._threads.run(self._document, kind, digest) if _DIGEST.fullmatch(digest) else None
        return None

    def _fetch(self, kind: str, digest: str) -> _Document:
        """The document with this digest; or a KeyError, which is not cached: it may come a moment later."""
        read = campaign_store.document_of if kind == "layers" else campaign_store.known_of
        with self._database.reading() as db:
            stored = read(db, bytes.fromhex(digest))
        if stored is None:
            raise KeyError(digest)
        return _Document(stored, as_gzip(stored))
