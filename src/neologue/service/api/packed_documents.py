"""Documents by their digest, stored by zlib and sent as gzip, or unpacked while they are read.

Strangers choose how many documents they read at once, and how slowly. So a document is in memory once, however many
read it, and none is there unpacked: who asks for that holds a piece of it.
"""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from neologue.service.storage.database import Connection, Database

IMMUTABLE: Final = "public, max-age=31536000, immutable"
_PIECE: Final = 1 << 16
_FED: Final = 1 << 13
"""So many packed bytes are unpacked at a time: what is left of them is a copy of each reader's own."""
_RECENT: Final = 64
"""How many documents stay in memory although nobody reads them."""
_HEADER: Final = bytes((0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF))
"""Of gzip: compressed by deflate, at no time, on no system."""
_BEFORE, _BEHIND = 2, 4
"""The bytes around the deflated content by zlib: what it is, and a check of another kind than that of gzip."""

Find = Callable[[Connection, bytes], bytes | None]
"""Finds a document by its digest as it is stored."""


@dataclass(frozen=True, eq=False)
class PackedDocument:
    """A document as it is stored, and as most are sent it."""

    stored: bytes
    gzip: bytes
    turn: asyncio.Lock
    """Whose turn it is of all who read documents."""

    def pieces(self, *, packed: bool) -> Iterator[bytes | memoryview]:
        """The document in pieces."""
        return _slices(self.gzip) if packed else unpacked(self.stored)


class _PieceByPiece(StreamingResponse):
    """A document that is written piece by piece, each when the one before is written, as long as the peer is there.

    Its own loop, because that of Starlette sees that a peer has gone when it waits for one, and leaves much to collect.
    """

    def __init__(
        self, pieces: Iterator[bytes | memoryview], turn: asyncio.Lock, headers: dict[str, str], media: str
    ) -> None:
        super().__init__(_nothing(), headers=headers, media_type=media)
        self._pieces, self._turn = pieces, turn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, as an ASGI application."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        gone = asyncio.ensure_future(_is_gone(receive))
        while (piece := await self._next()) is not None and not gone.done():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def _next(self) -> bytes | memoryview | None:
        """The next piece. Of all who wait for one, one at a time gets it, and meanwhile everybody else is answered."""
        async with self._turn:
            await asyncio.sleep(0)
            return next(self._pieces, None)


async def _is_gone(receive: Receive) -> None:
    """Wait until the peer has gone, or has the whole answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


class PackedDocuments:
    """The documents of a database; those that somebody reads are in memory once, and so are the most recent ones."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: WeakValueDictionary[tuple[Find, bytes], PackedDocument] = WeakValueDictionary()
        self._recent: OrderedDict[tuple[Find, bytes], PackedDocument] = OrderedDict()
        self._lock = Lock()
        self._turn = asyncio.Lock()

    def at_hand(self, find: Find, digest: bytes) -> PackedDocument | None:
        """The document with this digest, if it is in memory: then nobody waits for the database, nor for a thread."""
        key = find, digest
        document = self._read.get(key)
        return None if document is None else self._keep(key, document)

    def find(self, find: Find, digest: bytes) -> PackedDocument | None:
        """The document with this digest, if there is one."""
        document = self.at_hand(find, digest)
        if document is not None:
            return document
        with self._database.reading() as db:
            stored = find(db, digest)
        if stored is None:
            return None
        return self._keep((find, digest), PackedDocument(stored, as_gzip(stored), self._turn))

    def _keep(self, key: tuple[Find, bytes], document: PackedDocument) -> PackedDocument:
        with self._lock:
            document = self._read.setdefault(key, document)  # another thread may have been faster
            self._recent[key] = document
            self._recent.move_to_end(key)
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return document


def document_response(request: Request, document: PackedDocument, digest: str, media: str) -> Response:
    """A document, compressed if the client accepts that; it never changes, so it may be cached."""
    headers = {"Cache-Control": IMMUTABLE, "ETag": f'"{digest}"', "Vary": "Accept-Encoding"}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    packed = "gzip" in request.headers.get("Accept-Encoding", "")
    if packed:
        headers |= {"Content-Encoding": "gzip", "Content-Length": str(len(document.gzip))}
    # Nothing is unpacked for somebody who asks for the headers alone.
    pieces = iter(()) if request.method == "HEAD" else document.pieces(packed=packed)
    return _PieceByPiece(pieces, document.turn, headers, media)


def as_gzip(packed: bytes) -> bytes:
    """The same document by gzip, without compressing it anew."""
    check = length = 0
    for piece in unpacked(packed):
        check, length = zlib.crc32(piece, check), length + len(piece)
    content = packed[_BEFORE:-_BEHIND]
    return _HEADER + content + check.to_bytes(4, "little") + (length & 0xFFFFFFFF).to_bytes(4, "little")


def unpacked(packed: bytes) -> Iterator[bytes]:
    """A stored document in pieces."""
    unpacking = zlib.decompressobj()
    for fed in _slices(packed, _FED):
        left: bytes | memoryview = fed
        while left and not unpacking.eof:
            piece = unpacking.decompress(left, _PIECE)
            left = unpacking.unconsumed_tail
            if piece:
                yield piece
    while not unpacking.eof:
        piece = unpacking.decompress(b"", _PIECE)
        if piece:
            yield piece
        elif not unpacking.eof:
            raise zlib.error("a stored document is cut")


def _slices(content: bytes, length: int = _PIECE) -> Iterator[memoryview]:
    view = memoryview(content)
    return (view[start : start + length] for start in range(0, len(view), length))


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield
