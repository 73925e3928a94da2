"""Stored documents are sent as they were, however they are packed, and piece by piece."""

import asyncio
import gzip
import os
import zlib

import pytest

from neologue.service.api.packed_documents import as_gzip, unpacked

DOCUMENTS = {
    "empty": b"",
    "short": b"{}",
    "a piece": bytes(1 << 16),
    "zeros": bytes(1 << 20),
    "random": os.urandom(300_000),
    "words": b"\n".join(b"%d" % number for number in range(100_000)),
}


async def read(packed: bytes) -> list[bytes]:
    return [piece async for piece in unpacked(packed)]


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_comes_out_as_it_was(document: bytes, level: int) -> None:
    packed = zlib.compress(document, level)
    assert gzip.decompress(as_gzip(packed)) == document
    pieces = asyncio.run(read(packed))
    assert b"".join(pieces) == document
    assert max(map(len, pieces)) <= 1 << 16


def test_it_is_not_compressed_anew() -> None:
    packed = zlib.compress(DOCUMENTS["words"], 1)
    assert packed[2:-4] in as_gzip(packed)


@pytest.mark.parametrize("cut", [0, 1, 5, -5, -1])
def test_a_stored_document_that_is_cut_is_an_error(cut: int) -> None:
    packed = zlib.compress(DOCUMENTS["words"])[:cut]
    with pytest.raises(zlib.error):
        as_gzip(packed)
    with pytest.raises(zlib.error):
        asyncio.run(read(packed))
