"""The files of the log, for everybody: they are the same for all who ask, and all but the checkpoints never change."""

import hashlib
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from neologue.service.api.packed_documents import unpacked
from neologue.service.api.responses import failure
from neologue.service.log.log_files import packed_document, read_file
from neologue.service.ops.concurrency import Threads
from neologue.service.storage.database import Database
from neologue.transparency.log_source import DOCUMENTS
from neologue.transparency.tiles import CHECKPOINT

LOG: Final = "/log/"
EVIDENCE: Final = "evidence"
"""Where devices find the evidence of this service; what it was before, auditors find among the documents."""
_IMMUTABLE: Final = "public, max-age=31536000, immutable"
_FRESH: Final = "public, max-age=2"
_TEXT: Final = "text/plain; charset=utf-8"
_BYTES: Final = "application/octet-stream"


class LogRoutes:
    """Serves the log."""

    def __init__(self, database: Database, threads: Threads, quorum: int, evidence: bytes | None = None) -> None:
        """Serve checkpoints that so many witnesses have co-signed, and the evidence of where the service runs."""
        self._database, self._threads, self._quorum = database, threads, quorum
        self._evidence = evidence

    def routes(self) -> list[Route]:
        """The routes."""
        return [Route(LOG + "{path:path}", self._file, methods=["GET"])]

    async def _file(self, request: Request) -> Response:
        path: str = request.path_params["path"]
        packed, content = await self._threads.run(self._read, path)
        if packed is not None:
            return _document(path, packed, request.headers.get("If-None-Match"))
        if content is None:
            return failure(404, "unknown", "the log has no such file")
        changes = path == EVIDENCE or path.endswith(CHECKPOINT)
        tag = hashlib.sha256(content).hexdigest()
        headers = {"Cache-Control": _FRESH if changes else _IMMUTABLE, "ETag": f'"{tag}"'}
        if request.headers.get("If-None-Match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        text = changes or path.startswith(DOCUMENTS)
        return Response(content, headers=headers, media_type=_TEXT if text else _BYTES)

    def _read(self, path: str) -> tuple[bytes | None, bytes | None]:
        """The document at a path as it is stored, if devices are given it; or the file there, if there is one."""
        if path == EVIDENCE:
            return None, self._evidence
        with self._database.reading() as db:
            packed = packed_document(db, path)
            return packed, None if packed is not None else read_file(db, path, self._quorum)


def _document(path: str, packed: bytes, known: str | None) -> Response:
    """A document, which may be large, and which everybody may ask for."""
    headers = {"Cache-Control": _IMMUTABLE, "ETag": f'"{path.rpartition("/")[2]}"'}
    if known == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return StreamingResponse(unpacked(packed), headers=headers, media_type=_TEXT)
