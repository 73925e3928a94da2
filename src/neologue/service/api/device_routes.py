"""The routes that devices use before they send anything: check-in, documents of layers and lists of known words."""

import re
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.protocol.credential import Credential
from neologue.service.api.packed_documents import Find, PackedDocuments, document_response
from neologue.service.api.rate_limit import Standing
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import answer, failure
from neologue.service.api.schemas import UNREADABLE
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.collect.check_ins import CheckIns
from neologue.service.collect.layer_cache import LayerCache
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.collect.replies import CheckIn
from neologue.service.ops.concurrency import Threads
from neologue.service.ops.metrics import Counts

CHECK_IN: Final = "/v1/check-in"
LAYERS: Final = "/v1/layers/"
KNOWN: Final = "/v1/known/"
_LARGEST_CHECK_IN: Final = 1024
_DIGEST: Final = re.compile("[0-9a-f]{64}", re.ASCII)


class DeviceRoutes:
    """Serves check-ins, and documents by their digest."""

    def __init__(
        self,
        documents: PackedDocuments,
        layer_cache: LayerCache,
        check_ins: CheckIns,
        bodies: RequestBodies,
        threads: Threads,
        layers: LayerRefresh,
        answers: Counts,
    ) -> None:
        self._documents, self._layer_cache, self._check_ins = documents, layer_cache, check_ins
        self._bodies = bodies
        self._threads, self._layers, self._answers = threads, layers, answers

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
        return await self._serve_document("layers", layer_store.document_of, request)

    async def _known(self, request: Request) -> Response:
        return await self._serve_document("known", campaign_store.known_of, request)

    async def _serve_document(self, kind: str, find: Find, request: Request) -> Response:
        digest = request.path_params["digest"]
        document = None
        if _DIGEST.fullmatch(digest):
            wanted = find, bytes.fromhex(digest)
            document = self._documents.at_hand(*wanted) or await self._threads.run(self._documents.find, *wanted)
        if document is None:
            return failure(404, "unknown", f"there is nothing under this digest in {kind}")
        media = "application/json" if kind == "layers" else "text/plain; charset=utf-8"
        return document_response(request, document, digest, media)
