"""`layers.zip`: the documents of the layers of a release, the very bytes that devices fetched, named by their digests.

It travels beside `release.json`, whose digests say which documents belong to it, and in which order. A document has up
to 1.5 MB with the default parameters, and a third of that in the archive.
"""

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from neologue.errors import ReleaseError
from neologue.protocol.documents import LARGEST_DOCUMENT

NAME = "layers.zip"
ENDING = ".json"
MOST_BYTES = 1 << 30
"""The most that is read of an archive: it may come from a stranger, and small ones can be large inside."""
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""An archive of documents has no other, and none that needs much memory is read."""
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
"""What reading an open archive raises if it is none, or damaged; with wrong offsets an OSError too."""
LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The time of all files in an archive, so that the same documents give the same bytes."""


def by_digest(documents: Iterable[bytes]) -> dict[str, bytes]:
    """Documents by their digests, in hexadecimal."""
    return {hashlib.sha256(document).hexdigest(): document for document in documents}


def pack_documents(documents: Iterable[bytes]) -> bytes:
    """An archive of documents, the same bytes for the same documents in the same order."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for digest, document in by_digest(documents).items():
            entry = zipfile.ZipInfo(digest + ENDING, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, document)
    return file.getvalue()


def read_documents(path: Path, digests: Iterable[str]) -> dict[str, bytes]:
    """Those documents with some digests that an archive has, by their digests; none if there is no archive."""
    if not path.exists():
        return {}
    with path.open("rb") as file:
        try:
            return _read(file, path, digests)
        except DAMAGED as error:
            raise ReleaseError(
                f"{path} is cut or no archive of layer documents: get it anew, with its release"
            ) from error


def _read(file: BinaryIO, path: Path, digests: Iterable[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(file) as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        for digest in dict.fromkeys(digests):
            if entry := entries.get(digest + ENDING):
                found[digest] = _unpack(archive, entry)
            if sum(map(len, found.values())) > MOST_BYTES:
                raise ReleaseError(f"{path} has more than {MOST_BYTES >> 20:,} MiB of documents; get it anew")
    return found


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type not in COMPRESSIONS:
        raise zipfile.BadZipFile(f"compression {entry.compress_type}")
    with archive.open(entry) as content:
        return content.read(LARGEST_DOCUMENT + 1)
