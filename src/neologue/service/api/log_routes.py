"""The files of the log, for everybody: they are the same for all who ask, and all but the checkpoints never change."""

import hashlib
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.service.api.packed_documents import IMMUTABLE, PackedDocument, PackedDocuments, document_response
from neologue.service.api.responses import failure
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.log.log_files import document_digest, may_have, read_file
from neologue.service.ops.concurrency import Threads
from neologue.service.storage.database import Database
from neologue.transparency.log_source import DOCUMENTS
from neologue.transparency.tiles import CHECKPOINT

LOG: Final = "/log/"
EVIDENCE: Final = "evidence"
"""Where devices find the evidence of this service; what it was before, auditors find among the documents."""
_FRESH: Final = "public, max-age=2"
_TEXT: Final = "text/plain; charset=utf-8"
_BYTES: Final = "application/octet-stream"
_OF_DEVICES: Final = (layer_store.document_of, campaign_store.known_of)
"""Where the documents are found that devices are given, which may be large."""


class LogRoutes:
    """Serves the log."""

    def __init__(
        self,
        database: Database,
        documents: PackedDocuments,
        threads: Threads,
        quorum: int,
        evidence: bytes | None = None,
    ) -> None:
        """Serve checkpoints that so many witnesses have co-signed, and the evidence of where the service runs."""
        self._database, self._documents, self._threads, self._quorum = database, documents, threads, quorum
        self._evidence = evidence

    def routes(self) -> list[Route]:
        """The routes."""
        return [Route(LOG + "{path:path}", self._file, methods=["GET"])]

    async def _file(self, request: Request) -> Response:
        path: str = request.path_params["path"]
        content = self._evidence if path == EVIDENCE else None
        if may_have(path):
            found: PackedDocument | bytes | None = self._at_hand(path)
            if found is None:
                found = await self._threads.run(self._read, path)
            if isinstance(found, PackedDocument):
                return document_response(request, found, path.rpartition("/")[2], _TEXT)
            content = found
        if content is None:
            return failure(404, "unknown", "the log has no such file")
        changes = path == EVIDENCE or path.endswith(CHECKPOINT)
        tag = hashlib.sha256(content).hexdigest()
        headers = {"Cache-Control": _FRESH if changes else IMMUTABLE, "ETag": f'"{tag}"'}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        text = changes or path.startswith(DOCUMENTS)
        return Response(content, headers=headers, media_type=_TEXT if text else _BYTES)

    def _at_hand(self, path: str) -> PackedDocument | None:
        """The document at a path, if it is in memory."""
        digest = document_digest(path)
        if digest is None:
            return None
        return next(filter(None, (self._documents.at_hand(find, digest) for find in _OF_DEVICES)), None)

    def _read(self, path: str) -> PackedDocument | bytes | None:
        """The document at a path as devices are given it, or the file there, if there is one."""
        digest = document_digest(path)
        if digest is not None:
            for find in _OF_DEVICES:
                document = self._documents.find(find, digest)
                if document is not None:
                    return document
        with self._database.reading() as db:
            return read_file(db, path, self._quorum)
