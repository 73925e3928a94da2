"""Stored documents are sent as they were, however they are packed, and piece by piece."""

import gzip
import os
import weakref
import zlib
from pathlib import Path

import pytest

from neologue.service.api.packed_documents import PackedDocuments, as_gzip, unpacked
from neologue.service.campaigns.campaign_store import known_of
from neologue.service.storage.migrations import migrate
from neologue.service.storage.sqlite_database import SqliteDatabase

DOCUMENTS = {
    "empty": b"",
    "short": b"{}",
    "a piece": bytes(1 << 16),
    "zeros": bytes(1 << 20),
    "random": os.urandom(300_000),
    "words": b"\n".join(b"%d" % number for number in range(100_000)),
}


@pytest.mark.parametrize("level", [0, 1, 9])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_document_comes_out_as_it_was(document: bytes, level: int) -> None:
    packed = zlib.compress(document, level)
    assert gzip.decompress(as_gzip(packed)) == document
    pieces = list(unpacked(packed))
    assert b"".join(pieces) == document
    assert all(0 < len(piece) <= 1 << 16 for piece in pieces)


def test_it_is_not_compressed_anew() -> None:
    packed = zlib.compress(DOCUMENTS["words"], 1)
    assert packed[2:-4] in as_gzip(packed)


@pytest.mark.parametrize("cut", [0, 1, 5, -5, -1])
def test_a_stored_document_that_is_cut_is_an_error(cut: int) -> None:
    packed = zlib.compress(DOCUMENTS["words"])[:cut]
    with pytest.raises(zlib.error):
        as_gzip(packed)
    with pytest.raises(zlib.error):
        list(unpacked(packed))


def test_a_document_that_is_read_is_in_memory_once_whatever_else_is_read(tmp_path: Path) -> None:
    """Whoever reads more documents than are kept, one after the other and all slowly, doubles none."""
    database = SqliteDatabase(str(tmp_path / "service.db"))
    migrate(database)
    digests = [os.urandom(32) for _ in range(100)]
    with database.transaction() as db:
        rows = [(digest, zlib.compress(digest)) for digest in digests]
        db.executemany("INSERT INTO known (digest, words) VALUES (?, ?)", rows)
    documents = PackedDocuments(database)
    being_read = [documents.find(known_of, digest) for digest in digests]
    assert all(each is documents.find(known_of, digest) for each, digest in zip(being_read, digests, strict=True))
    assert documents.find(known_of, bytes(32)) is None
    gone = weakref.ref(being_read[0])
    del being_read
    assert gone() is None, "nobody reads it, and there were others since"
    assert documents.find(known_of, digests[0])
    database.close()
