"""The archive of layer documents may come from a stranger: it is read, or refused with a sentence."""

import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from neologue.errors import ReleaseError
from neologue.release.layer_archive import by_digest, pack_documents, read_documents

DOCUMENTS = by_digest(bytes([number]) * 300 for number in range(3))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "layers.zip"


def packed(archive: Path, compression: int) -> None:
    with zipfile.ZipFile(archive, "w", compression) as file:
        for digest, document in DOCUMENTS.items():
            file.writestr(f"{digest}.json", document)


def test_documents_come_back_by_their_digests(archive: Path) -> None:
    assert read_documents(archive, DOCUMENTS) == {}
    archive.write_bytes(pack_documents(DOCUMENTS.values()))
    assert read_documents(archive, [*DOCUMENTS, "00" * 32]) == DOCUMENTS
    packed(archive, zipfile.ZIP_STORED)
    assert read_documents(archive, DOCUMENTS) == DOCUMENTS


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("damaged", [False, True])
def test_other_compressions_are_refused(compression: int, damaged: bool, archive: Path) -> None:
    packed(archive, compression)
    if damaged:
        content = bytearray(archive.read_bytes())
        content[110:130] = bytes(20)
        archive.write_bytes(content)
    with pytest.raises(ReleaseError, match="is cut or no archive of layer documents: get it anew"):
        read_documents(archive, DOCUMENTS)


def test_a_damaged_archive_is_read_or_refused(archive: Path) -> None:
    """Some of the damages mislead to places before the file, where the system refuses to read."""
    lots, whole = random.Random(1), pack_documents(DOCUMENTS.values())
    refused = 0
    for _ in range(500):
        content = bytearray(whole)
        for _ in range(lots.choice([1, 4])):
            content[lots.randrange(len(content))] = lots.choice([0, 255, lots.randrange(256)])
        archive.write_bytes(content[: lots.choice([len(content), lots.randrange(len(content))])])
        with suppress(ReleaseError):
            read_documents(archive, DOCUMENTS)
            refused -= 1
        refused += 1
    assert refused > 100


def test_what_can_not_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_documents(tmp_path, DOCUMENTS)
